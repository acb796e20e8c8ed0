import EngageAdapter
import EvergageAdapter
import Experimentation
import FlagshipAdapter
import OFREPAdapter

extension Vendor {
    /// The vendors, in the order of every report.
    public static let all: [Vendor] = [flagship, sigma, engage, evergage, ofrep]

    private static let flagship = Vendor(
        "flagship",
        subjects: [FlagshipSubject(mode: .decisionAPI), FlagshipSubject(mode: .bucketing)]
    )

    private static let sigma = Vendor("sigma", subjects: [SigmaSubject()])

    private static let engage = Vendor("engage", subjects: [EngageSubject()]) {
        client async throws(ExperimentationError) in try await Engage(of: client).reach()
    }

    private static let evergage = Vendor("evergage", subjects: [EvergageSubject()]) {
        client async throws(ExperimentationError) in try await EvergageProvider.reach(client)
    }

    private static let ofrep = Vendor(
        "ofrep",
        subjects: [OFREPSubject(), OFREPSubject(changes: .events), OFREPSubject(takesEvents: true)]
    )
}
