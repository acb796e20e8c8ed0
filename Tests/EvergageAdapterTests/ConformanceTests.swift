import ConformanceKit
import ConformanceSubjects
import Testing

@Suite("Evergage keeps its declared promises")
struct ConformanceTests {
    @Test(arguments: ConformanceCase.all)
    func conforms(to conformanceCase: ConformanceCase) async {
        let result = await ConformanceRunner().run(conformanceCase, against: EvergageSubject())
        #expect(!result.outcome.isFailure, "\(result.outcome.failures)")
    }
}
