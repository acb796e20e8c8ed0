import Experimentation
import Logging
import Tracing

/// Queues a log event for each exposure.
struct ExposureEvents: ExposureObserver {
    let logger: Logger
    let level: Logger.Level
    let relay: Relay<TelemetryItem>

    func exposed(_ exposure: Exposure, of user: User, by provider: String) {
        guard logger.logLevel <= level else { return }
        relay.put(.exposure(exposure, user, provider: provider, ServiceContext.current))
    }
}

/// Counts each exposure.
struct ExposureCounts: ExposureObserver {
    let tally: Tally<Tallies.Arm>

    func exposed(_ exposure: Exposure, of user: User, by provider: String) {
        tally.add(Tallies.Arm(exposure.assignment))
    }
}
