import Experimentation
import HTTPTypes
import HummingbirdCore
import NIOCore

/// The frame around the items of a bulk answer, the same for all users of a tenant.
struct BulkFrame: Sendable {
    private let beginning: [UInt8]
    private let end: [UInt8]
    private let mark: EntityTag.Mark

    /// Creates a frame.
    ///
    /// - Parameters:
    ///   - metadata: Flat metadata for the client.
    ///   - eventStreams: Where the client can listen for changes.
    init(metadata: [String: FlagValue], eventStreams: [FlagValue] = []) {
        var beginning = Array("{".utf8)
        if !eventStreams.isEmpty {
            beginning += Array("\"eventStreams\":".utf8) + AnswerForms.bytes(of: .array(eventStreams)) + Array(",".utf8)
        }
        self.beginning = beginning + Array("\"flags\":[".utf8)
        end = Array("],\"metadata\":".utf8) + AnswerForms.bytes(of: .object(metadata)) + Array("}".utf8)
        mark = EntityTag.Mark(of: self.beginning + end)
    }

    /// The tag of an answer with these items.
    func tag(of items: [FlagForms.Form]) -> EntityTag {
        EntityTag(frame: mark, items: items.lazy.map(\.mark))
    }

    /// The body of an answer with these items.
    func body(of items: [FlagForms.Form]) -> ByteBuffer {
        var body = ByteBuffer()
        body.reserveCapacity(items.reduce(beginning.count + end.count) { $0 + $1.text.count + 1 })
        body.writeBytes(beginning)
        var isFirst = true
        for item in items {
            if !isFirst { body.writeInteger(UInt8(ascii: ",")) }
            isFirst = false
            body.writeBytes(item.text)
        }
        body.writeBytes(end)
        return body
    }

    /// The answer: 304 if the client has the current version.
    ///
    /// - Parameters:
    ///   - items: The items.
    ///   - ifNoneMatch: The request's `If-None-Match` field.
    /// - Returns: The answer.
    func answer(_ items: [FlagForms.Form], ifNoneMatch: String?) -> Answer {
        let tag = tag(of: items)
        let fields: HTTPFields = [.eTag: tag.text, .cacheControl: "private, no-cache"]
        if let ifNoneMatch, tag.isNamed(in: ifNoneMatch) { return .empty(.notModified, fields) }
        var answer = Answer(status: .ok, fields: fields, body: ResponseBody(byteBuffer: body(of: items)))
        answer.fields[.contentType] = "application/json"
        return answer
    }
}
