import ConformanceKit
import FlagshipAdapter
import OFREPAdapter

/// The subjects that are at home here.
public enum AllSubjects {
    /// The in-memory provider first, then the vendors; Flagship and OFREP in both of their modes.
    public static let all: [any ConformanceSubject] = [
        InMemorySubject(), FlagshipSubject(mode: .decisionAPI), FlagshipSubject(mode: .bucketing), SigmaSubject(),
        EngageSubject(), EvergageSubject(), OFREPSubject(), OFREPSubject(changes: .events),
    ]

    /// The subject with a name, or `nil`.
    public static func named(_ name: String) -> (any ConformanceSubject)? { all.first { $0.name == name } }
}
