import ConformanceKit
import Experimentation
import Testing

@Suite("A planted fault of a provider is caught")
struct PlantedFaultTests {
    @Test("P73 by its own case, and by no case that blames something else", arguments: PlantedFault.all)
    func caught(_ fault: PlantedFault) async throws {
        let report = await ConformanceRunner(width: 8).run(
            ConformanceCase.all,
            against: [BentSubject(bend: fault.bend)]
        )
        let results = try #require(report.subjects.first).results
        let failed = results.filter { $0.outcome.isFailure }
        #expect(failed.contains { $0.name == fault.caughtBy }, "not caught by \(fault.caughtBy)")
        let strangers = failed.filter { !fault.isBlamed(by: $0) }
        #expect(strangers.map(\.account) == [], "blamed by others")
    }
}
