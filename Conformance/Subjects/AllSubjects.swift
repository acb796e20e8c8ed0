import ConformanceKit
import FlagshipAdapter

/// The subjects that are at home here.
public enum AllSubjects {
    /// The in-memory provider first, then the vendors; Flagship in both of its modes.
    public static let all: [any ConformanceSubject] = [
        InMemorySubject(), FlagshipSubject(mode: .decisionAPI), FlagshipSubject(mode: .bucketing), SigmaSubject(),
        EngageSubject(), EvergageSubject(),
    ]

    /// The subject with a name, or `nil`.
    public static func named(_ name: String) -> (any ConformanceSubject)? { all.first { $0.name == name } }
}
