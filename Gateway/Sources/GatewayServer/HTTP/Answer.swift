import AdapterKit
import Experimentation
import HTTPTypes
import HummingbirdCore
import NIOCore

/// What a route answers, before it is put on the wire.
struct Answer: Sendable {
    var status: HTTPResponse.Status
    var fields: HTTPFields = [:]
    var body = ResponseBody()

    /// An answer without a body.
    static func empty(_ status: HTTPResponse.Status, _ fields: HTTPFields = [:]) -> Answer {
        Answer(status: status, fields: fields)
    }

    /// An answer with bytes of a type.
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

    /// An answer in JSON that is written already.
    static func json(_ status: HTTPResponse.Status, _ bytes: [UInt8], _ fields: HTTPFields = [:]) -> Answer {
        self.bytes(status, bytes, type: "application/json", fields)
    }

    /// An answer in JSON.
    static func json(_ status: HTTPResponse.Status, _ value: FlagValue, _ fields: HTTPFields = [:]) -> Answer {
        json(status, AnswerForms.bytes(of: value), fields)
    }
}

/// How answers that no route gives are written.
struct AnswerForms: Sendable {
    /// A value as JSON; what can't be written, because of a number that is none, is `null`.
    static func bytes(of value: FlagValue) -> [UInt8] { (try? JSON.encode(value)) ?? Array("null".utf8) }

    /// What a connection is told that is closed for breaking the rules: fields and body.
    func refusal(_ status: Int, _ message: String) -> (fields: [(String, String)], body: [UInt8]) {
        let body = Self.bytes(of: ProtocolError(.general, message).document())
        let fields = [
            ("content-type", "application/json"), ("content-length", "\(body.count)"), ("connection", "close"),
        ]
        return (fields, body)
    }
}
