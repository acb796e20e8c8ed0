import Experimentation
import HTTPTypes
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
    func tag(of items: some Sequence<FlagForms.Form>) -> EntityTag {
        EntityTag(frame: mark, items: items.lazy.map(\.mark))
    }

    /// The body of an answer with these items.
    private func body(of items: some Sequence<FlagForms.Form>) -> ByteBuffer {
        var body = ByteBuffer()
        body.reserveCapacity(items.reduce(beginning.count + end.count) { $0 + $1.text.readableBytes + 1 })
        body.writeBytes(beginning)
        var isFirst = true
        for item in items {
            if !isFirst { body.writeInteger(UInt8(ascii: ",")) }
            isFirst = false
            body.writeImmutableBuffer(item.text)
        }
        body.writeBytes(end)
        return body
    }

    /// The answer: 304 if the client has the current version.
    ///
    /// - Parameters:
    ///   - items: The items.
    ///   - ifNoneMatch: The request's `If-None-Match` field.
    ///   - revision: The revision of the rules that instances share.
    /// - Returns: The answer.
    func answer(
        _ items: some Sequence<FlagForms.Form>,
        ifNoneMatch: String?,
        at revision: Int64? = nil
    ) -> EvaluationAnswer {
        let tag = tag(of: items)
        let text = tag.text(at: revision)
        if let ifNoneMatch, tag.isNamed(in: ifNoneMatch) { return EvaluationAnswer(.notModified, tag: text) }
        return EvaluationAnswer(.ok, body(of: items), tag: text)
    }
}
