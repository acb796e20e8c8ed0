import ConformanceKit
import ConformanceSubjects
import EngageAdapter
import Testing

@Suite("Engage keeps its declared promises")
struct ConformanceTests {
    @Test(arguments: ConformanceCase.all)
    func conforms(to conformanceCase: ConformanceCase) async {
        let complaint = await EngageSubject().complaint(about: conformanceCase)
        #expect(complaint == nil)
    }

    @Test("the subject declares the provider's capabilities")
    func capabilities() {
        let provider = EngageProvider(configuration: EngageWorkbench.configuration())
        #expect(EngageSubject().capabilities == provider.capabilities)
        #expect(Set(EngageSubject().reasons.keys).isDisjoint(with: provider.capabilities))
    }
}
