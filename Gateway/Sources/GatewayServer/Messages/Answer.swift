import AdapterKit
import Experimentation
import GatewayBodies
import HTTPTypes
import HummingbirdCore
import NIOCore

/// A route's answer, before it is sent.
struct Answer: Sendable {
    var status: HTTPResponse.Status
    var fields: HTTPFields = [:]
    var body = ResponseBody()

    /// Creates an answer without a body.
    static func empty(_ status: HTTPResponse.Status, _ fields: HTTPFields = [:]) -> Answer {
        Answer(status: status, fields: fields)
    }

    /// Creates an answer with bytes of a content type.
    static func bytes(
        _ status: HTTPResponse.Status,
        _ bytes: some Sequence<UInt8>,
        type: String,
        _ fields: HTTPFields = [:]
    ) -> Answer {
        var answer = Answer(status: status, fields: fields, body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
        answer.fields[.contentType] = type
        return answer
    }

    /// Creates an answer with encoded JSON.
    static func json(_ status: HTTPResponse.Status, _ bytes: [UInt8], _ fields: HTTPFields = [:]) -> Answer {
        self.bytes(status, bytes, type: "application/json", fields)
    }

    /// Creates an answer with JSON.
    static func json(_ status: HTTPResponse.Status, _ value: FlagValue, _ fields: HTTPFields = [:]) -> Answer {
        json(status, AnswerForms.bytes(of: value), fields)
    }
}

/// The format of answers that don't come from a route.
struct AnswerForms: Sendable {
    /// Encodes a value as JSON; `null` if it contains a number that isn't finite.
    static func bytes(of value: FlagValue) -> [UInt8] { (try? JSON.encode(value)) ?? Array("null".utf8) }

    /// The fields and body of the answer to a connection that is closed for breaking the rules.
    func refusal(_ status: Int, _ message: String) -> (fields: [(String, String)], body: [UInt8]) {
        let body = Self.bytes(of: ProtocolError(.general, message).document())
        let fields = [
            ("content-type", "application/json"), ("content-length", "\(body.count)"), ("connection", "close"),
        ]
        return (fields, body)
    }
}

extension HTTPField.Name {
    /// The name of a field, from a literal in the source.
    static func literal(_ name: StaticString) -> HTTPField.Name {
        guard let name = HTTPField.Name("\(name)") else { preconditionFailure("No field can be named \(name).") }
        return name
    }
}
