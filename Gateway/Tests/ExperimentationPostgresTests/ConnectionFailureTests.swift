import Experimentation
import Testing

@testable import ExperimentationPostgres

@Suite("A transaction that failed")
struct ConnectionFailureTests {
    @Test(
        "is late also if the server's own limit ended it, but not if the server refused it or was stopped",
        arguments: [("57014", true), ("55P03", true), ("42501", false), ("57P01", false)]
    )
    func late(state: String, isLate: Bool) {
        let error = ConnectionFailure.refused(state: state, message: "as the test wants it").error
        #expect(error.code == .store)
        #expect((error.cause is LateAnswer) == isLate)
    }
}
