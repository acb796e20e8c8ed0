import ConformanceKit
import ConformanceSubjects
import Testing

@Suite("The in-memory provider keeps every promise")
struct InMemoryConformanceTests {
    @Test(arguments: ConformanceCase.all)
    func conforms(to conformanceCase: ConformanceCase) async {
        let complaint = await InMemorySubject().complaint(about: conformanceCase)
        #expect(complaint == nil)
    }
}
