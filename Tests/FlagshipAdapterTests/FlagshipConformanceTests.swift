import ConformanceKit
import ConformanceSubjects
import FlagshipAdapter
import Testing

@Suite("Flagship keeps the neutral promises")
struct FlagshipConformanceTests {
    @Test("when the Decision API decides", arguments: ConformanceCase.all)
    func decisionAPI(conformanceCase: ConformanceCase) async {
        let complaint = await FlagshipSubject(mode: .decisionAPI).complaint(about: conformanceCase)
        #expect(complaint == nil)
    }

    @Test("when the adapter decides", arguments: ConformanceCase.all)
    func bucketing(conformanceCase: ConformanceCase) async {
        let complaint = await FlagshipSubject(mode: .bucketing).complaint(about: conformanceCase)
        #expect(complaint == nil)
    }
}
