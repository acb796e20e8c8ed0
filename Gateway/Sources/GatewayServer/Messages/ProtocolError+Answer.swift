import GatewayBodies
import HTTPTypes

extension ProtocolError {
    /// The answer.
    ///
    /// - Parameter key: The flag's key, for a single evaluation.
    /// - Returns: The answer.
    func answer(for key: String? = nil) -> Answer {
        var answer = Answer.json(status, document(for: key))
        if status == .serviceUnavailable { answer.fields[.retryAfter] = "1" }
        return answer
    }
}
