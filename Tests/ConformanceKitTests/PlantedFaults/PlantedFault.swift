import ConformanceKit
import ConformanceSubjects
import Experimentation
import Testing

/// A planted fault, the case that must catch it, and the cases that may fail as well.
struct PlantedFault: Sendable, CustomTestStringConvertible {
    let name: String
    let caughtBy: String
    /// Patterns of the cases that may fail as well; all others must pass.
    let alsoBlamedBy: [String]
    /// Messages, one of which any other failing case must contain: a fault may show wherever it matters.
    let accusations: [String]
    let bend: BentSubject.Bend

    var testDescription: String { "\(name), caught by \(caughtBy)" }

    init(
        _ name: String,
        caughtBy: String,
        alsoBlamedBy: [String] = [],
        accusations: [String] = [],
        _ bend: BentSubject.Bend
    ) {
        self.name = name
        self.caughtBy = caughtBy
        self.alsoBlamedBy = alsoBlamedBy
        self.accusations = accusations
        self.bend = bend
    }

    /// Whether a case must catch this fault, or may fail because of it.
    func isMeant(for conformanceCase: ConformanceCase) -> Bool {
        conformanceCase.name == caughtBy || isAlsoBlamed(by: conformanceCase)
    }

    /// Whether a failed case blames this fault and nothing else.
    func isBlamed(by result: CaseResult) -> Bool {
        let known = ConformanceCase.all.first { $0.name == result.name }
        if known.map(isMeant) == true { return true }
        let failures = result.outcome.failures
        return !failures.isEmpty
            && failures.allSatisfy { failure in accusations.contains(where: failure.message.contains) }
    }

    private func isAlsoBlamed(by conformanceCase: ConformanceCase) -> Bool {
        alsoBlamedBy.contains(where: conformanceCase.matches)
    }

    static let all =
        decisions + operators + layers + experiments + campaigns + valueTypes + delivery + storage + discretion
        + surroundings + batches
}
