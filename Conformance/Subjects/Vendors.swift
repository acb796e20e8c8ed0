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
    ) { settings in
        FlagshipProvider(configuration: try FlagshipConfiguration(reading: &settings))
    }

    private static let sigma = Vendor("sigma", subjects: [SigmaSubject()]) { settings in
        SigmaProvider(configuration: try SigmaConfiguration(reading: &settings))
    }

    private static let engage = Vendor(
        "engage",
        subjects: [EngageSubject()],
        read: { settings in EngageProvider(configuration: try EngageConfiguration(reading: &settings)) },
        reach: { client async throws(ExperimentationError) in try await Engage(of: client).reach() }
    )

    private static let evergage = Vendor(
        "evergage",
        subjects: [EvergageSubject()],
        read: { settings in EvergageProvider(configuration: try EvergageConfiguration(reading: &settings)) },
        reach: { client async throws(ExperimentationError) in try await EvergageProvider.reach(client) }
    )
}
