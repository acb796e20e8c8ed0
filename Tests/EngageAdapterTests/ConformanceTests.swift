import ConformanceKit
import ConformanceSubjects
import EngageAdapter
import Testing

@Suite("Engage keeps its declared promises")
struct ConformanceTests {
    @Test("a neutral case passes, or has a reason", arguments: ConformanceCase.all)
    func conforms(to conformanceCase: ConformanceCase) async {
        let result = await ConformanceRunner().run(conformanceCase, against: EngageSubject())
        #expect(!result.outcome.isFailure, "\(result.name): \(result.outcome)")
    }

    @Test("the subject declares the provider's capabilities")
    func capabilities() {
        let provider = EngageProvider(configuration: EngageWorkbench.configuration())
        #expect(EngageSubject().capabilities == provider.capabilities)
        #expect(Set(EngageSubject().reasons.keys).isDisjoint(with: provider.capabilities))
    }
}
