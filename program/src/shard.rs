//! Parts of a list of runs: by hand, or as the schedulers of clusters number their tasks.

use anyhow::{Context, Result, anyhow};

/// Every `count`-th run of a list, from `index` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shard {
    pub(crate) index: u64,
    pub(crate) count: u64,
}

/// Options that choose a part of a list.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct ShardOptions {
    /// Do part I of N alone, I from 0 to N-1 [default: in a Slurm array or an indexed Job of Kubernetes the part of
    /// the task, else everything]
    #[arg(long, value_name = "I/N", value_parser = Shard::parse)]
    pub(crate) shard: Option<Shard>,

    /// How many parts there are, where the scheduler does not say: for Kubernetes, and for a Slurm array of which some
    /// tasks alone are started again
    #[arg(long, value_name = "N", conflicts_with = "shard", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) shards: Option<u64>,
}

impl Shard {
    /// Everything.
    pub(crate) const WHOLE: Self = Self { index: 0, count: 1 };

    /// `None` if there are not so many parts.
    pub(crate) fn new(index: u64, count: u64) -> Option<Self> {
        (index < count).then_some(Self { index, count })
    }

    fn parse(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/').map(|(index, count)| (index.parse(), count.parse()));
        let Some((Ok(index), Ok(count))) = parts else { return Err("must be I/N, as 0/8".to_owned()) };
        Self::new(index, count).ok_or_else(|| match count {
            0 => "there are no parts".to_owned(),
            count => format!("{count} parts are numbered from 0 to {}", count - 1),
        })
    }

    pub(crate) fn has(self, run: u64) -> bool {
        run % self.count == self.index
    }
}

impl ShardOptions {
    /// The part that was asked for, or that the scheduler gives to this task.
    pub(crate) fn choose(self) -> Result<Shard> {
        self.choose_in(&|name| std::env::var(name).ok())
    }

    fn choose_in(self, variable: &dyn Fn(&str) -> Option<String>) -> Result<Shard> {
        if let Some(shard) = self.shard {
            return Ok(shard);
        }
        let number = |name: &str| {
            let text = variable(name);
            text.map(|text| text.trim().parse::<u64>().map_err(|_| anyhow!("{name} is {text:?}, no number")))
                .transpose()
        };
        let named = |name: &'static str, index: u64, count: u64| {
            Shard::new(index, count)
                .with_context(|| format!("{name} is {index}, but --shards says that there are {count}"))
        };
        let task = "SLURM_ARRAY_TASK_ID";
        match (number(task)?, number("JOB_COMPLETION_INDEX")?, self.shards) {
            (Some(id), _, Some(count)) => named(task, id, count),
            (Some(id), _, None) => {
                let needed = |name: &'static str| {
                    number(name)?.with_context(|| format!("{task} is set, but {name} is not: --shard says which part"))
                };
                let (least, count) = (needed("SLURM_ARRAY_TASK_MIN")?, needed("SLURM_ARRAY_TASK_COUNT")?);
                let step = number("SLURM_ARRAY_TASK_STEP")?.unwrap_or(1).max(1);
                let most = number("SLURM_ARRAY_TASK_MAX")?;
                let last = count.checked_sub(1).and_then(|steps| least.checked_add(steps.checked_mul(step)?));
                let offset = id.checked_sub(least).filter(|offset| offset % step == 0);
                let even = last.is_some() && most.is_none_or(|most| Some(most) == last);
                let shard = offset.filter(|_| even).and_then(|offset| Shard::new(offset / step, count));
                shard.with_context(|| {
                    format!(
                        "the Slurm array has {count} tasks from {least} on, which are no even range with {id} in it; \
                         --shards N says how many parts there are, numbered from 0"
                    )
                })
            }
            (None, Some(index), Some(count)) => named("JOB_COMPLETION_INDEX", index, count),
            (None, Some(_), None) => Err(anyhow!(
                "JOB_COMPLETION_INDEX is set, but Kubernetes does not say how many parts there are: --shards N does"
            )),
            (None, None, Some(_)) => Err(anyhow!(
                "--shards is for tasks of schedulers, and neither {task} nor JOB_COMPLETION_INDEX is set; --shard I/N \
                 names a part"
            )),
            (None, None, None) => Ok(Shard::WHOLE),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(shards: Option<u64>, variables: &[(&str, &str)]) -> Result<(u64, u64), String> {
        let options = ShardOptions { shard: None, shards };
        let find =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        options.choose_in(&find).map(|shard| (shard.index, shard.count)).map_err(|error| error.to_string())
    }

    fn slurm(values: [&'static str; 5]) -> Vec<(&'static str, &'static str)> {
        let names = [
            "SLURM_ARRAY_TASK_ID",
            "SLURM_ARRAY_TASK_MIN",
            "SLURM_ARRAY_TASK_COUNT",
            "SLURM_ARRAY_TASK_STEP",
            "SLURM_ARRAY_TASK_MAX",
        ];
        names.into_iter().zip(values).filter(|(_, value)| !value.is_empty()).collect()
    }

    #[test]
    fn tasks_of_schedulers_are_parts() {
        assert_eq!(chosen(None, &[]), Ok((0, 1)));
        assert_eq!(chosen(None, &slurm(["0", "0", "8", "1", "7"])), Ok((0, 8)));
        assert_eq!(chosen(None, &slurm(["8", "1", "8", "1", "8"])), Ok((7, 8)));
        assert_eq!(chosen(None, &slurm(["30", "10", "3", "10", "30"])), Ok((2, 3)));
        assert_eq!(chosen(None, &slurm(["3", "3", "1", "1", "3"])), Ok((0, 1)));
        assert_eq!(chosen(Some(8), &slurm(["3", "3", "1", "1", "3"])), Ok((3, 8)));
        assert_eq!(chosen(Some(8), &[("JOB_COMPLETION_INDEX", "5")]), Ok((5, 8)));
        for (shards, variables, expected) in [
            (None, slurm(["3", "1", "3", "1", "7"]), "no even range"),
            (None, slurm(["3", "", "3", "1", "7"]), "SLURM_ARRAY_TASK_MIN is not"),
            (None, slurm(["0", "1", "3", "1", "3"]), "no even range"),
            (None, slurm(["9", "1", "3", "1", "3"]), "no even range"),
            (None, slurm(["x", "1", "3", "1", "3"]), "no number"),
            (None, slurm(["0", "0", "0", "1", "0"]), "no even range"),
            (None, slurm(["5", "1", "18446744073709551615", "18446744073709551615", "7"]), "no even range"),
            (Some(3), slurm(["3", "0", "4", "1", "3"]), "SLURM_ARRAY_TASK_ID is 3, but --shards says that there are 3"),
            (None, vec![("JOB_COMPLETION_INDEX", "5")], "--shards N does"),
            (Some(5), vec![("JOB_COMPLETION_INDEX", "5")], "but --shards says that there are 5"),
            (Some(5), vec![], "neither SLURM_ARRAY_TASK_ID nor"),
        ] {
            let told = chosen(shards, &variables).unwrap_err();
            assert!(told.contains(expected), "{variables:?}: {told}");
        }
    }

    #[test]
    fn parts_are_disjoint_and_cover_the_list() {
        let shards: Vec<Shard> = (0..3).map(|index| Shard::parse(&format!("{index}/3")).unwrap()).collect();
        for run in 0..20 {
            assert_eq!(shards.iter().filter(|shard| shard.has(run)).count(), 1);
        }
        for text in ["3/3", "1", "a/3", "0/0", "-1/3", "1/"] {
            assert!(Shard::parse(text).is_err(), "{text}");
        }
    }
}
