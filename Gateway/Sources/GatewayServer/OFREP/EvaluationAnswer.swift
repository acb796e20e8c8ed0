import GatewayBodies
import HTTPTypes
import HummingbirdCore
import NIOCore

/// An evaluation's answer, independent of the HTTP library's types.
struct EvaluationAnswer: Sendable {
    var status: HTTPResponse.Status
    var body: ByteBuffer?
    /// The entity tag of a bulk answer.
    var tag: String?

    /// Creates an answer.
    init(_ status: HTTPResponse.Status, _ body: ByteBuffer? = nil, tag: String? = nil) {
        (self.status, self.body, self.tag) = (status, body, tag)
    }

    /// Creates the answer to a single evaluation.
    init(_ form: FlagForms.Form) { self.init(form.failure?.status ?? .ok, form.text) }

    static let type = "application/json"
    static let caching = "private, no-cache"
}

extension Answer {
    /// Creates an answer from an evaluation.
    init(_ evaluation: EvaluationAnswer) {
        self.init(status: evaluation.status)
        if let tag = evaluation.tag {
            fields[.eTag] = tag
            fields[.cacheControl] = EvaluationAnswer.caching
        }
        guard let body = evaluation.body else { return }
        fields[.contentType] = EvaluationAnswer.type
        self.body = ResponseBody(byteBuffer: body)
    }
}
