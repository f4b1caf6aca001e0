//! A turn's steps to its sums and costs.

use super::{CostSource, ModelUsage, TokenCounts, TurnUsage, UsageModel, UsageOperation, UsageRecord, UsageStep, add};
use crate::catalog::ModelCatalog;
use crate::cost::{PricedTokens, calculate_cost, calculate_sum_cost};
use serde_json::Value;
use std::collections::HashMap;

/// Sums the billable steps as they are, with the agent's own costs. `None` where there is none.
#[must_use]
pub fn aggregate_turn_usage(steps: &[UsageStep]) -> Option<TurnUsage> {
    let records: Vec<&UsageRecord> = steps.iter().map(|step| &step.record).filter(|record| is_counted(record)).collect();
    let cost = sum(&records, native);
    let source = cost.map(|_| CostSource::Native);
    settled(&records, Costs { cost, source, market: None }, native)
}

/// The one place where a turn's usage is settled. Snapshots are left out; a report that is repeated under one id counts once,
/// with what its latest form says. Steps are preferred to an agent's sum of the turn, unless they are inexact and the sum is
/// not. A cost is the agent's own where there is one, else the catalog's. `None` where no step is billable.
#[must_use]
pub fn finalize_turn_usage(steps: &[UsageStep], catalog: &ModelCatalog) -> Option<TurnUsage> {
    let reports = reports_of(steps, is_counted);
    let all: Vec<&UsageRecord> = reports.iter().collect();
    let of = |operation: UsageOperation| -> Vec<&UsageRecord> {
        all.iter().copied().filter(|record| record.operation == operation).collect()
    };
    let (calls, sums) = (of(UsageOperation::ChatStep), of(UsageOperation::ChatTurn));
    let are_steps_better = calls.iter().all(|call| call.exact) || !sums.iter().any(|sum| sum.exact);
    let left_out = match !calls.is_empty() && are_steps_better {
        true => UsageOperation::ChatTurn,
        false if sums.is_empty() => UsageOperation::ChatTurn,
        false => UsageOperation::ChatStep,
    };
    let without = |operation| all.iter().copied().filter(|record| record.operation != operation).collect::<Vec<_>>();
    let counted = without(left_out);

    let market = |record: &UsageRecord| gateway_cost(record).or_else(|| market_cost(record, catalog));
    let either = |record: &UsageRecord| native(record).or_else(|| market(record));
    // What an agent says of the whole turn is its cost, also where its steps are what is counted, and the other way round.
    // A sum that bills nothing, since the steps do, may still say what the turn cost.
    let told = reports_of(steps, |record| record.operation == UsageOperation::ChatTurn);
    let told: Vec<&UsageRecord> = told.iter().collect();
    let without_sums = without(UsageOperation::ChatTurn);
    let stated = [&counted, &sums, &without_sums, &told].into_iter().find_map(|records| sum(records, native));
    let (cost, source) = match (stated, sum(&counted, either)) {
        (Some(cost), _) => (Some(cost), Some(CostSource::Native)),
        (None, Some(cost)) => (Some(cost), Some(CostSource::Catalog)),
        (None, None) => (None, None),
    };
    let costs = Costs { cost, source, market: sum(&counted, market) };
    match source {
        Some(CostSource::Native) => settled(&counted, costs, native),
        _ => settled(&counted, costs, either),
    }
}

struct Costs {
    cost: Option<f64>,
    source: Option<CostSource>,
    market: Option<f64>,
}

fn is_counted(record: &UsageRecord) -> bool {
    record.billable && record.operation != UsageOperation::ContextSnapshot
}

/// One record a report of those that are meant, in order of first appearance. A record without an id is a report of its own.
fn reports_of(steps: &[UsageStep], is_meant: impl Fn(&UsageRecord) -> bool) -> Vec<UsageRecord> {
    let mut reports: Vec<UsageRecord> = Vec::new();
    let mut positions: HashMap<(&str, bool), usize> = HashMap::new();
    for record in steps.iter().map(|step| &step.record).filter(|record| is_meant(record)) {
        let key = (record.id.as_str(), record.operation == UsageOperation::ChatTurn);
        match positions.get(&key).and_then(|position| reports.get_mut(*position)) {
            Some(former) => *former = merged(former, record),
            None => {
                if !record.id.is_empty() {
                    positions.insert(key, reports.len());
                }
                reports.push(record.clone());
            }
        }
    }
    reports
}

/// A repeated report: its counts may have grown since the former one. What only one of them knows is kept.
fn merged(former: &UsageRecord, later: &UsageRecord) -> UsageRecord {
    let (base, other) = if former.exact && !later.exact { (former, later) } else { (later, former) };
    UsageRecord {
        tokens: TokenCounts {
            input_tokens: base.tokens.input_tokens.or(other.tokens.input_tokens),
            output_tokens: base.tokens.output_tokens.or(other.tokens.output_tokens),
            cache_read_tokens: base.tokens.cache_read_tokens.or(other.tokens.cache_read_tokens),
            cache_write_tokens: base.tokens.cache_write_tokens.or(other.tokens.cache_write_tokens),
        },
        reasoning_tokens: base.reasoning_tokens.or(other.reasoning_tokens),
        cache_write1h_tokens: base.cache_write1h_tokens.or(other.cache_write1h_tokens),
        native_cost_usd: native(base).or_else(|| native(other)),
        model: UsageModel {
            agent_revision_id: base.model.agent_revision_id.clone().or_else(|| other.model.agent_revision_id.clone()),
            provider_id: base.model.provider_id.clone().or_else(|| other.model.provider_id.clone()),
            model_id: base.model.model_id.clone().or_else(|| other.model.model_id.clone()),
            ..UsageModel::default()
        },
        ..base.clone()
    }
}

fn native(record: &UsageRecord) -> Option<f64> {
    record.native_cost_usd.filter(|cost| cost.is_finite() && *cost >= 0.0)
}

/// The cost where it is the price that the gateway itself stated, as Pi 1.6.0 marks it (`totalFromProvider`): a list of prices
/// knows no better.
fn gateway_cost(record: &UsageRecord) -> Option<f64> {
    let cost = record.raw.get("cost").or_else(|| record.raw.pointer("/usage/cost"))?;
    native(record).filter(|_| cost.get("totalFromProvider").and_then(Value::as_bool) == Some(true))
}

fn market_cost(record: &UsageRecord, catalog: &ModelCatalog) -> Option<f64> {
    let usage = PricedTokens { tokens: record.tokens, cache_write1h_tokens: record.cache_write1h_tokens };
    let (provider, model) = (record.model.provider_id.as_deref(), record.model.model_id.as_deref()?);
    match record.operation {
        UsageOperation::ChatTurn => calculate_sum_cost(usage, provider, model, catalog),
        _ => calculate_cost(usage, provider, model, catalog),
    }
}

/// Unknown where the cost of one is, and for no records.
fn sum(records: &[&UsageRecord], cost: impl Fn(&UsageRecord) -> Option<f64>) -> Option<f64> {
    let costs: Option<Vec<f64>> = records.iter().map(|record| cost(record)).collect();
    costs.filter(|costs| !costs.is_empty()).map(|costs| costs.iter().sum())
}

fn settled(records: &[&UsageRecord], costs: Costs, cost_of: impl Fn(&UsageRecord) -> Option<f64>) -> Option<TurnUsage> {
    if records.is_empty() {
        return None;
    }
    let mut models = by_model(records, cost_of);
    if let [only] = models.as_mut_slice() {
        only.cost_usd = costs.cost;
    }
    Some(TurnUsage {
        tokens: records.iter().fold(TokenCounts::ZERO, |sum, record| sum.plus(record.tokens)),
        steps: records.len() as u64,
        exact: records.iter().all(|record| record.exact),
        reasoning_tokens: records.iter().try_fold(0, |sum, record| add(Some(sum), record.reasoning_tokens)),
        cost_usd: costs.cost,
        market_cost_usd: costs.market,
        cost_source: costs.source,
        models,
    })
}

fn by_model(records: &[&UsageRecord], cost_of: impl Fn(&UsageRecord) -> Option<f64>) -> Vec<ModelUsage> {
    let mut groups: Vec<(&UsageModel, Vec<&UsageRecord>)> = Vec::new();
    for record in records {
        let is_same =
            |model: &UsageModel| model.provider_id == record.model.provider_id && model.model_id == record.model.model_id;
        match groups.iter_mut().find(|(model, _)| is_same(model)) {
            Some((_, group)) => group.push(record),
            None => groups.push((&record.model, vec![record])),
        }
    }
    let usage = |(model, group): (&UsageModel, Vec<&UsageRecord>)| ModelUsage {
        tokens: group.iter().fold(TokenCounts::ZERO, |sum, record| sum.plus(record.tokens)),
        provider_id: model.provider_id.clone(),
        model_id: model.model_id.clone(),
        steps: group.len() as u64,
        cost_usd: sum(&group, &cost_of),
    };
    groups.into_iter().map(usage).collect()
}
