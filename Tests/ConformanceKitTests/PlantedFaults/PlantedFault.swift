import ConformanceKit
import ConformanceSubjects
import Experimentation
import Testing

/// Something wrong on purpose, the case that is meant to catch it, and who else may complain.
struct PlantedFault: Sendable, CustomTestStringConvertible {
    let name: String
    let caughtBy: String
    /// Patterns of the cases that may fail as well; every other case must not.
    let alsoBlamedBy: [String]
    /// What any other case has to say of it, one of these, if it fails too: it shows in all that has to do with it.
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

    /// Whether a case that failed blames this, and nothing else.
    func isBlamed(by result: CaseResult) -> Bool {
        let known = ConformanceCase.all.first { $0.name == result.name }
        if result.name == caughtBy || known.map(isAlsoBlamed) == true { return true }
        let failures = result.outcome.failures
        return !failures.isEmpty
            && failures.allSatisfy { failure in accusations.contains(where: failure.message.contains) }
    }

    private func isAlsoBlamed(by conformanceCase: ConformanceCase) -> Bool {
        alsoBlamedBy.contains(where: conformanceCase.matches)
    }

    static let all = decisions + operators + layers + experiments + delivery + storage + discretion + surroundings
}
