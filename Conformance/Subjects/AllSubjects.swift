import ConformanceKit
import FlagshipAdapter
import OFREPAdapter

/// The subjects of this package.
public enum AllSubjects {
    /// The in-memory provider, followed by the vendors; Flagship and OFREP in each of their modes.
    public static let all: [any ConformanceSubject] = [
        InMemorySubject(), FlagshipSubject(mode: .decisionAPI), FlagshipSubject(mode: .bucketing), SigmaSubject(),
        EngageSubject(), EvergageSubject(), OFREPSubject(), OFREPSubject(changes: .events),
        OFREPSubject(takesEvents: true),
    ]

    /// Returns the subject with a name; `nil` if there is none.
    public static func named(_ name: String) -> (any ConformanceSubject)? { all.first { $0.name == name } }
}
