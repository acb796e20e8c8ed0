import ConformanceKit
import ConformanceSubjects
import Testing

@Suite("Evergage keeps its declared promises")
struct ConformanceTests {
    @Test(arguments: ConformanceCase.all)
    func conforms(to conformanceCase: ConformanceCase) async {
        let complaint = await EvergageSubject().complaint(about: conformanceCase)
        #expect(complaint == nil)
    }
}
