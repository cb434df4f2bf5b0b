use super::{BySource, Method};
use crate::routes::by_source::{Choices, KeepGoing, Made, Quality, Request, System, TableError, share};
use crate::traffic::{Purpose, draw, draw_below};

pub(super) const METHOD: Method = Method {
    by_source: Some(BySource { headers, searches: true }),
    ..Method::any("genetic", "genetic search (angara-routing-2021, Section 4.2)")
};

/// The genetic generator: a gene is the number of a pair's route, the fitness is sigma(4).
///
/// Parents are drawn from the whole population (panmixia), crossed between two points; each
/// generation has as many children as parents, and the best of both survive.
fn headers(system: &System, request: &Request, keep_going: KeepGoing<'_>) -> Result<Made, TableError> {
    let (traffic, seed, settings) = (request.traffic.as_deref(), request.seed, &request.genetic);
    let mut choices = Choices::found(system, &mut share(keep_going, 0.0, 0.0))?.all_served()?;
    let fixed = Quality::of(system, &choices.headers, traffic).loads;
    let fitness = |genes: &[u16]| -> f64 {
        let mut loads = fixed.clone();
        for (pair, &gene) in choices.pairs.iter().zip(genes) {
            let index = pair.source as usize * system.nodes() + pair.destination as usize;
            for link in system.links(pair.source, choices.walk(pair, gene)) {
                loads[link as usize] += traffic.map_or(1, |traffic| traffic[index]);
            }
        }
        Quality::new(system, loads, 0).sigma4
    };
    let mut counter = 0_u64;
    let mut below = |bound: usize| {
        counter += 1;
        draw_below(seed, 1, Purpose::Table, counter, bound as u32) as usize
    };
    let genes = choices.pairs.len();
    let size = settings.population.max(2);
    let mut population: Vec<(f64, Vec<u16>)> = (0..size)
        .map(|_| {
            if !keep_going(0.0) {
                return Err(TableError::Interrupted);
            }
            let chromosome: Vec<u16> =
                choices.pairs.iter().map(|pair| below(usize::from(pair.count)) as u16).collect();
            Ok((fitness(&chromosome), chromosome))
        })
        .collect::<Result<_, _>>()?;
    population.sort_by(|a, b| a.0.total_cmp(&b.0));
    let limit = (settings.mutation * u64::MAX as f64) as u64;
    let mut idle = 0;
    let mut generation = 0_u64;
    let mut mutated = 0_u64;
    while idle < settings.patience && genes > 0 && population[0].0 > 0.0 {
        let before = population[0].0;
        for _ in 0..size {
            if !keep_going(f64::from(idle) / f64::from(settings.patience)) {
                return Err(TableError::Interrupted);
            }
            let (mother, father) = (below(size), below(size));
            let (a, b) = (below(genes + 1), below(genes + 1));
            let mut child = population[mother].1.clone();
            child[a.min(b)..a.max(b)].copy_from_slice(&population[father].1[a.min(b)..a.max(b)]);
            for (gene, pair) in child.iter_mut().zip(&choices.pairs) {
                mutated += 1;
                if draw(seed, 2, Purpose::Table, mutated) < limit {
                    *gene = below(usize::from(pair.count)) as u16;
                }
            }
            population.push((fitness(&child), child));
        }
        // Stable: of equal chromosomes the older survives.
        population.sort_by(|a, b| a.0.total_cmp(&b.0));
        population.truncate(size);
        generation += 1;
        // Slow progress counts as none only once the search has settled.
        let slow = generation > u64::from(settings.patience)
            && before - population[0].0 < settings.threshold * before / f64::from(settings.patience);
        idle = if population[0].0 < before && !slow { 0 } else { idle + 1 };
    }
    let best = population.swap_remove(0).1;
    for (pair, gene) in choices.pairs.iter_mut().zip(best) {
        pair.chosen = gene;
    }
    Ok(choices.chosen_headers().into())
}
