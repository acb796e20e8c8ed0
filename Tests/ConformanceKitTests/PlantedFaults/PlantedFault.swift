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
    let bend: BentSubject.Bend

    var testDescription: String { "\(name), caught by \(caughtBy)" }

    init(_ name: String, caughtBy: String, alsoBlamedBy: [String] = [], _ bend: BentSubject.Bend) {
        self.name = name
        self.caughtBy = caughtBy
        self.alsoBlamedBy = alsoBlamedBy
        self.bend = bend
    }

    static let all = decisions + experiments + delivery + storage + discretion
}
