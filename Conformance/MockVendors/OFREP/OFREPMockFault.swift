import Foundation

/// A way in which a server implements the protocol only half correctly.
public enum OFREPMockFault: String, Sendable, Hashable, Codable, CaseIterable {
    // The whole answer.
    case notJSON, emptyBody, listAtTop, noFlags, flagsAsObject, flagsNull, deepNesting, brokenText, byteOrderMark
    case plainText, created, noContent
    // One flag, the first.
    case itemIsNull, itemWithoutKey, keyIsNumber, keyIsEmpty, sameKeyTwice, valueIsNull, noValue, noVariant
    case variantIsNumber, noReason, strangeReason, reasonIsNumber, errorWithoutCode, strangeErrorCode
    case errorCodeBesideValue, errorCodeIsNumber, metadataIsList, nestedMetadata, hugeNumber
    // Validators.
    case confirmsUnasked, confirmsAnything, bareTag, weakTag, hugeTag, sameTagAlways
    // Rejections.
    case refusesWithoutReason, refusesStrangely, asksForPatienceByDate, asksForPatienceOddly, asksForPatienceForEver
    // Event streams.
    case streamsAsObject, uselessStreams, strangeStreams, streamIsJSON, streamEndsAtOnce, streamBabbles
    case streamIsGone, streamRefuses

    /// Applies the fault to the answer of a bulk evaluation.
    func spoil(_ answer: MockResponse, to request: MockRequest, version: Int) -> MockResponse {
        var answer = answer
        switch self {
        case .notJSON: answer.body = Array("flags: none".utf8)
        case .emptyBody: answer.body = []
        case .listAtTop: answer.body = Array("[]".utf8)
        case .noFlags: answer.body = Array("{}".utf8)
        case .flagsAsObject: answer.body = Array(#"{"flags":{"first":{"value":true}}}"#.utf8)
        case .flagsNull: answer.body = Array(#"{"flags":null}"#.utf8)
        case .deepNesting: answer.body = Array(repeating: UInt8(ascii: "["), count: 100_000)
        case .brokenText: answer.body = Array(#"{"flags":[{"key":""#.utf8) + [0xFF, 0xFE] + Array(#""}]}"#.utf8)
        case .byteOrderMark: answer.body = [0xEF, 0xBB, 0xBF] + answer.body
        case .plainText: answer.headers = answer.headers.filter { $0.name != "Content-Type" } + [Self.text]
        case .created: answer.status = 201
        case .noContent: answer = MockResponse(status: 204)
        case .confirmsUnasked: answer = MockResponse(status: 304)
        case .confirmsAnything:
            if request.header("If-None-Match") != nil { answer = MockResponse(status: 304) }
        case .bareTag: answer.setTag("bare tag")
        case .weakTag: answer.setTag("W/\"weak\"")
        case .hugeTag: answer.setTag("\"" + String(repeating: "x", count: 20_000) + "\"")
        case .sameTagAlways: answer.setTag("\"same\"")
        case .refusesWithoutReason: answer = MockResponse(status: 400)
        case .refusesStrangely: answer = .json(#"{"errorCode":"NO_MOOD"}"#, status: 400)
        case .asksForPatienceByDate: answer = Self.patience("2026-11-21T10:00:30Z")
        case .asksForPatienceOddly: answer = Self.patience("a little while")
        case .asksForPatienceForEver: answer = Self.patience("99999999999999999999")
        case .streamsAsObject: answer.change { $0["eventStreams"] = .object(["type": "sse"]) }
        case .uselessStreams: answer.change { $0["eventStreams"] = Self.addressesOfNoUse }
        case .strangeStreams:
            answer.change { $0["eventStreams"] = .array([.object(["type": "carrierPigeon"]), .int(1), .null]) }
        case .streamIsJSON, .streamEndsAtOnce, .streamBabbles, .streamIsGone, .streamRefuses: break
        default: answer.change { $0["flags"] = spoilFirst($0["flags"]?.array ?? []) }
        }
        return answer
    }

    private func spoilFirst(_ items: [MockJSON]) -> MockJSON {
        guard let first = items.first, var members = first.object else { return .array(items) }
        switch self {
        case .itemIsNull: return .array([.null] + items.dropFirst())
        case .sameKeyTwice:
            members["value"] = "second"
            return .array([first, .object(members)] + items.dropFirst())
        case .itemWithoutKey: members["key"] = nil
        case .keyIsNumber: members["key"] = .int(7)
        case .keyIsEmpty: members["key"] = ""
        case .valueIsNull: members["value"] = .null
        case .noValue: members["value"] = nil
        case .noVariant: members["variant"] = nil
        case .variantIsNumber: members["variant"] = .int(7)
        case .noReason: members["reason"] = nil
        case .strangeReason: members["reason"] = "BECAUSE"
        case .reasonIsNumber: members["reason"] = .int(7)
        case .errorWithoutCode: members["reason"] = "ERROR"
        case .strangeErrorCode: members["errorCode"] = "NO_MOOD"
        case .errorCodeBesideValue: members["errorCode"] = "GENERAL"
        case .errorCodeIsNumber: members["errorCode"] = .int(7)
        case .metadataIsList: members["metadata"] = .array(["owner"])
        case .nestedMetadata: members["metadata"] = .object(["owner": "shop", "deep": .object(["er": .int(1)])])
        case .hugeNumber: members["value"] = .double(1e308)
        default: break
        }
        return .array([.object(members)] + items.dropFirst())
    }

    // MARK: Streams

    /// The head of an event stream; `nil` if the fault doesn't change it.
    var streamHead: MockResponse? {
        switch self {
        case .streamIsJSON: .json(#"{"type":"refetchEvaluation"}"#)
        case .streamIsGone: MockResponse(status: 404)
        case .streamRefuses: MockResponse(status: 403)
        default: nil
        }
    }

    /// The pieces of an event stream; `nil` if the fault doesn't change them.
    var pieces: AsyncStream<[UInt8]>? {
        let texts: [String]
        switch self {
        case .streamEndsAtOnce: texts = []
        case .streamIsJSON: texts = [#"{"type":"refetchEvaluation"}"#, "\n\n"]
        case .streamBabbles:
            texts = [
                "\u{FEFF}: a comment\r\r", "data: not JSON\n\n", "data: 7\r\n\r\n", #"data: {"type":"dance"}"#, "\n\n",
                #"data: {"type":7}"#, "\n\n", "retry: 999999999999999999999\nid: \0\nnonsense\n\n", "data\n\ndata:\n\n",
                "data: " + String(repeating: "x", count: 200_000) + "\n\n",
            ]
        default: return nil
        }
        let (stream, continuation) = AsyncStream.makeStream(of: [UInt8].self)
        for text in texts { continuation.yield(Array(text.utf8)) }
        // A babbling stream stays open until its reader ends it.
        if self != .streamBabbles { continuation.finish() }
        return stream
    }

    private static let text = MockRequest.Header("Content-Type", "text/plain")

    private static let addressesOfNoUse: MockJSON = .array(
        [
            ["url": "javascript:alert(1)"], ["url": "http://flags.example.com/sse"],
            ["url": "https://u:p@example.com/"],
            ["url": ""], [:], ["url": "https://a.example/", "endpoint": .object(["requestUri": "/"])],
            ["endpoint": .object(["requestUri": "sse"])], ["endpoint": .object(["requestUri": "//elsewhere.example/"])],
            ["url": .int(7)],
        ].map { (members: [String: MockJSON]) in .object(members.merging(["type": "sse"]) { $1 }) }
    )

    private static func patience(_ text: String) -> MockResponse {
        MockResponse(status: 429, headers: [.init("Retry-After", text)])
    }
}

extension MockResponse {
    fileprivate mutating func setTag(_ tag: String) {
        headers.removeAll { $0.name == "ETag" }
        headers.append(.init("ETag", tag))
    }

    fileprivate mutating func change(_ change: (inout [String: MockJSON]) -> Void) {
        guard var members = MockJSON.parse(body)?.object else { return }
        change(&members)
        body = MockJSON.object(members).bytes
        // A changed body needs a new validator.
        setTag("\"\(OFREPMockFlag.hash(body))\"")
    }
}
