import ConformanceKit
import Experimentation
import Testing
import Waiting

@Suite("A planted fault of a provider is caught")
struct PlantedFaultTests {
    /// The number of faults tried at once: their cases mostly wait for what a faulty provider never does.
    private static let width = 24

    @Test("P73 each fault is caught by its own case, and by no case that blames something else")
    func caught() async {
        await withTaskGroup(of: Void.self) { group in
            for (place, fault) in PlantedFault.all.enumerated() {
                if place >= Self.width { await group.next() }
                group.addTask { await tryOut(fault, at: place) }
            }
        }
    }

    private func tryOut(_ fault: PlantedFault, at place: Int) async {
        // Outside soak, a fifth of the cases that have nothing to do with a fault, a different one for each.
        let cases = ConformanceCase.all.enumerated().filter { index, conformanceCase in
            isSoak || (index + place).isMultiple(of: 5) || fault.isMeant(for: conformanceCase)
        }
        let report = await ConformanceRunner(width: 8).run(
            cases.map(\.element),
            against: [BentSubject(bend: fault.bend)]
        )
        let failed = report.subjects.flatMap(\.results).filter(\.outcome.isFailure)
        #expect(failed.contains { $0.name == fault.caughtBy }, "\(fault.name): not caught by \(fault.caughtBy)")
        let strangers = failed.filter { !fault.isBlamed(by: $0) }
        #expect(strangers.map(\.account) == [], "\(fault.name): blamed by others")
    }
}
