import ConformanceKit
import ConformanceSubjects
import Testing

@Suite("A composition keeps the promises that follow from its parts")
struct ConformanceTests {
    @Test(arguments: ConformanceCase.all)
    func conforms(to conformanceCase: ConformanceCase) async {
        let complaint = await ComposedSubject.sigmaEvergage.complaint(about: conformanceCase)
        #expect(complaint == nil)
    }
}
