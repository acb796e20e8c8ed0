import AdapterKit
import EngageAdapter
import EvergageAdapter
import Experimentation
import FlagshipAdapter
import SigmaAdapter

extension Vendor {
    /// The vendors, in the order of every report.
    public static let all: [Vendor] = [flagship, sigma, engage, evergage]

    private static let flagship = Vendor(
        "flagship",
        subjects: [FlagshipSubject(mode: .decisionAPI), FlagshipSubject(mode: .bucketing)]
    ) { settings, environment, _ in
        FlagshipProvider(configuration: try FlagshipConfiguration(reading: &settings), environment: environment)
    }

    private static let sigma = Vendor("sigma", subjects: [SigmaSubject()]) { settings, environment, _ in
        SigmaProvider(configuration: try SigmaConfiguration(reading: &settings), environment: environment)
    }

    private static let engage = Vendor(
        "engage",
        subjects: [EngageSubject()],
        read: { settings, environment, state in
            EngageProvider(
                configuration: try EngageConfiguration(reading: &settings),
                environment: environment,
                state: state
            )
        },
        reach: { provider async throws(ExperimentationError) in try await (provider as? EngageProvider)?.reach() }
    )

    private static let evergage = Vendor(
        "evergage",
        subjects: [EvergageSubject()],
        read: { settings, environment, _ in
            EvergageProvider(configuration: try EvergageConfiguration(reading: &settings), environment: environment)
        },
        reach: { provider async throws(ExperimentationError) in try await (provider as? EvergageProvider)?.reach() }
    )
}
