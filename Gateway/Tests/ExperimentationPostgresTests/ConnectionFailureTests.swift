import Experimentation
import Testing

@testable import ExperimentationPostgres

@Suite("The error of a failed transaction")
struct ConnectionFailureTests {
    @Test(
        "says that the answer is late if a limit of the server was exceeded, but not after a refusal or a stop",
        arguments: [("57014", true), ("55P03", true), ("42501", false), ("57P01", false)]
    )
    func late(state: String, isLate: Bool) {
        let error = ConnectionFailure.refused(state: state, message: "as the test wants it").error
        #expect(error.code == .store)
        #expect((error.cause is LateAnswer) == isLate)
    }
}
