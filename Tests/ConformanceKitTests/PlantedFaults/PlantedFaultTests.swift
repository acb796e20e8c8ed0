import ConformanceKit
import Experimentation
import Testing
import Waiting

@Suite("A planted fault of a provider is caught")
struct PlantedFaultTests {
    @Test(
        "P73 by its own case, and by no case that blames something else",
        arguments: zip(PlantedFault.all, PlantedFault.all.indices)
    )
    func caught(_ fault: PlantedFault, _ place: Int) async throws {
        // Outside soak, a third of the cases that have nothing to do with a fault, a different one for each.
        let cases = ConformanceCase.all.enumerated().filter { index, conformanceCase in
            isSoak || (index + place).isMultiple(of: 3) || fault.isMeant(for: conformanceCase)
        }
        let report = await ConformanceRunner(width: 8).run(
            cases.map(\.element),
            against: [BentSubject(bend: fault.bend)]
        )
        let results = try #require(report.subjects.first).results
        let failed = results.filter { $0.outcome.isFailure }
        #expect(failed.contains { $0.name == fault.caughtBy }, "not caught by \(fault.caughtBy)")
        let strangers = failed.filter { !fault.isBlamed(by: $0) }
        #expect(strangers.map(\.account) == [], "blamed by others")
    }
}
