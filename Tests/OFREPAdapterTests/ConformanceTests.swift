import ConformanceKit
import ConformanceSubjects
import OFREPAdapter
import Testing

@Suite("OFREP keeps its declared promises")
struct ConformanceTests {
    @Test(arguments: ConformanceCase.all)
    func conforms(to conformanceCase: ConformanceCase) async {
        let complaint = await OFREPSubject().complaint(about: conformanceCase)
        #expect(complaint == nil)
    }

    @Test("with changes announced, too", arguments: ConformanceCase.all)
    func conformsListening(to conformanceCase: ConformanceCase) async {
        let complaint = await OFREPSubject(changes: .events).complaint(about: conformanceCase)
        #expect(complaint == nil)
    }

    @Test("with a server that accepts events, too", arguments: ConformanceCase.all)
    func conformsTracking(to conformanceCase: ConformanceCase) async {
        let complaint = await OFREPSubject(takesEvents: true).complaint(about: conformanceCase)
        #expect(complaint == nil)
    }
}
