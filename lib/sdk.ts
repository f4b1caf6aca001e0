// Its types use `Symbol.dispose`, which the libraries of TypeScript's older targets lack.
/// <reference lib="esnext.disposable" preserve="true" />

/** The types of the official ACP SDK. It is an ES module and this is CommonJS, hence the resolution mode: said here once. */
export type * from "@agentclientprotocol/sdk" with { "resolution-mode": "import" };
