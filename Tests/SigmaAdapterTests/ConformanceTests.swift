import ConformanceKit
import ConformanceSubjects
import Testing

@Suite("Sigma keeps its declared promises")
struct ConformanceTests {
    @Test(arguments: ConformanceCase.all)
    func conforms(to conformanceCase: ConformanceCase) async {
        let complaint = await SigmaSubject().complaint(about: conformanceCase)
        #expect(complaint == nil)
    }
}
