//! A device is lost in the middle of a run, and the run ends with the same bytes as if it had not been.
//!
//! `cargo run --example device_loss` plays a host that takes a checkpoint every ten frames and keeps what it said to
//! the cloth since. When a call is [`Error::DeviceLost`] it opens a device anew, makes the cloth anew, gives it the
//! checkpoint and says everything again. After three losses within ten seconds of simulation it goes on without a
//! device, and says so.

use taut::{Backend, Cloth, Error, FrameInput, Gpu, PinTarget, Result, Settings, scene};

const FRAMES: u64 = 50;
/// Frames between two checkpoints: what is saved against what must be computed again.
const SAVE_EVERY: u64 = 10;
/// So many losses within so many frames are no accident.
const TOO_MANY: usize = 3;
const WITHIN: u64 = 600;

/// What can be said to the cloth. Whatever changes it must be here: what is not cannot be said again.
#[derive(Clone, Debug)]
enum Input {
    Impulse(u32, [f32; 3]),
    Wind(Option<taut::Wind>),
    Frame(f32, Vec<PinTarget>),
}

impl Input {
    fn say(&self, cloth: &mut Cloth) -> Result<()> {
        match self {
            Self::Impulse(vertex, impulse) => cloth.add_impulse(*vertex, *impulse),
            Self::Wind(wind) => cloth.change(|settings| settings.wind = *wind),
            Self::Frame(dt, targets) => cloth.step(&FrameInput { dt: *dt, pin_targets: targets }),
        }
    }
}

/// A program that owns a cloth.
struct Host {
    cloth: Cloth,
    /// State and settings at the last checkpoint; no state at the start.
    saved: (Option<Vec<u8>>, Settings),
    /// What was said since.
    log: Vec<Input>,
    /// Frames in which a device was lost.
    losses: Vec<u64>,
}

impl Host {
    fn new() -> Result<Self> {
        let settings = Settings::default();
        let cloth = made(open(), &settings)?;
        Ok(Self { cloth, saved: (None, settings), log: Vec::new(), losses: Vec::new() })
    }

    /// Says something to the cloth, whatever happens to the device meanwhile.
    fn say(&mut self, input: Input) -> Result<()> {
        match input.say(&mut self.cloth) {
            Ok(()) => self.log.push(input),
            Err(Error::DeviceLost) => {
                self.log.push(input);
                self.recover()?;
            }
            // What was refused has changed nothing, and would be refused again.
            Err(refused) => return Err(refused),
        }
        Ok(())
    }

    /// Takes a checkpoint: what was said before it need not be said again.
    fn save(&mut self) -> Result<()> {
        match self.cloth.checkpoint() {
            Ok(bytes) => {
                self.saved = (Some(bytes), self.cloth.settings().clone());
                self.log.clear();
                Ok(())
            }
            // The old one and the log are as good.
            Err(Error::DeviceLost) => self.recover(),
            // An impulse waits for its frame: later.
            Err(Error::Checkpoint { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Another device, the last checkpoint, everything since.
    fn recover(&mut self) -> Result<()> {
        loop {
            let now = self.cloth.frame();
            self.losses.retain(|frame| frame + WITHIN > now);
            self.losses.push(now);
            let gpu = if self.losses.len() < TOO_MANY { open() } else { None };
            match &gpu {
                Some(gpu) => println!("frame {now}: the device is lost; again on {}", label(gpu)),
                None => {
                    println!("frame {now}: the device is lost, loss {}; on the CPU from here on", self.losses.len());
                }
            }
            match self.again(gpu) {
                // It may be lost again while all this is done; the CPU is not.
                Err(Error::DeviceLost) => {}
                outcome => return outcome,
            }
        }
    }

    fn again(&mut self, gpu: Option<Gpu>) -> Result<()> {
        let (state, settings) = &self.saved;
        let mut cloth = made(gpu, settings)?;
        if let Some(state) = state {
            cloth.restore(state)?;
        }
        for input in &self.log {
            input.say(&mut cloth)?;
        }
        self.cloth = cloth;
        Ok(())
    }
}

/// The cloth of this program, on a device or without one.
fn made(gpu: Option<Gpu>, settings: &Settings) -> Result<Cloth> {
    let scene = scene::hang(12)?.with_settings(settings.clone());
    match gpu {
        Some(gpu) => Cloth::on_gpu(&gpu, scene),
        None => Cloth::on_cpu(scene),
    }
}

/// A device of its own for every call, as after a loss.
fn open() -> Option<Gpu> {
    Backend::Gpu.choose(None).ok()?.gpu
}

fn label(gpu: &Gpu) -> String {
    gpu.adapter().map(Gpu::label).unwrap_or_default()
}

/// A run in which the device is lost before these frames.
fn run(lost_before: &[u64]) -> Result<Host> {
    let mut host = Host::new()?;
    for frame in 0..FRAMES {
        if lost_before.contains(&frame)
            && let Some(gpu) = host.cloth.gpu()
        {
            gpu.device().destroy();
        }
        if frame == 17 {
            host.say(Input::Impulse(70, [0.0, 1e-3, 2e-3]))?;
        }
        if frame == 23 {
            host.say(Input::Wind(Some(taut::Wind { velocity: [0.0, 0.0, 3.0], ..Default::default() })))?;
        }
        // One corner swings.
        let swing = 0.05 * (0.2 * frame as f32).sin();
        host.say(Input::Frame(1.0 / 60.0, vec![PinTarget { vertex: 0, position: [swing.abs(), swing, 0.0] }]))?;
        if (frame + 1) % SAVE_EVERY == 0 {
            host.save()?;
        }
    }
    Ok(host)
}

fn main() -> Result<()> {
    if open().is_none() {
        println!("there is no adapter: nothing to lose");
        return Ok(());
    }
    let whole = run(&[])?;
    println!("{FRAMES} frames without a loss, on {}", whole.cloth.gpu().map(label).unwrap_or_default());

    // Within the log, right behind a checkpoint, and with an impulse and a change since.
    let once = run(&[25])?;
    assert!(once.cloth.gpu().is_some());
    assert_eq!(once.cloth.checkpoint()?, whole.cloth.checkpoint()?);
    println!("one loss: frame {}, every byte as without it", once.cloth.frame());

    let often = run(&[12, 20, 24])?;
    assert!(often.cloth.gpu().is_none() && often.losses.len() == TOO_MANY);
    let (left, right) = (often.cloth.snapshot()?, whole.cloth.snapshot()?);
    let gap = |(a, b): (&[f32; 3], &[f32; 3])| a.iter().zip(b).fold(0.0f32, |most, (a, b)| most.max((a - b).abs()));
    let apart = left.positions.iter().zip(&right.positions).map(gap).fold(0.0f32, f32::max);
    assert_eq!((often.cloth.frame(), left.report.converged), (FRAMES, Some(true)));
    println!("three losses: frame {} on the CPU, {apart:.1e} m from the device's run", often.cloth.frame());
    Ok(())
}
