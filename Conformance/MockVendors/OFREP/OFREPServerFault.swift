/// A protocol violation of a server that makes some client fail or use the wrong flags.
///
/// These test a suite for servers; ``OFREPMockFault`` tests clients.
public enum OFREPServerFault: String, Sendable, Hashable, Codable, CaseIterable {
    // Validators.
    case tagOfTheUserAlone, newTagEachTime, tagWithoutQuotes, readsOneTag, takesNoWeakTag, takesNoBareTag
    case matchesPartOfATag, confirmsRefusals, trustsTheQuery
    // Values.
    case floatsWithoutFraction, integersWithFraction, hugeIntegers, nullForNoValue, ignoresAttributes, disagreesAlone
    // Required members of an answer.
    case noVariant, strangeReason, nestedMetadata, sameKeyTwice, textIsNoJSON
    // Rejections.
    case refusesWithoutKey, refusesWithoutWords, refusesInPlainText, ownCodes, absentIsGood, failsOnBadBodies
    case failsWithoutAContext
    // Keys.
    case splitsAtSlashes, decodesTwice, plusIsSpace
    // Access and limits.
    case anyTokenWillDo, tellsStrangersOfFlags, looksBeforeItLetsIn, patienceWithAFraction, takesAnyMethod
    // Event streams.
    case streamIsText, streamEndsAtOnce, streamTellsValues, streamIsForEverybody
}

extension OFREPServerFault {
    /// The request as a server with this fault misreads it.
    func misread(_ request: MockRequest) -> MockRequest {
        var request = request
        switch self {
        case .tagOfTheUserAlone, .newTagEachTime, .matchesPartOfATag: request.drop("If-None-Match")
        case .readsOneTag:
            let first = request.header("If-None-Match")?.split(separator: ",").first.map { String($0) }
            request.put("If-None-Match", first)
        case .takesNoWeakTag where request.header("If-None-Match")?.hasPrefix("W/") == true,
            .takesNoBareTag where request.header("If-None-Match")?.contains("\"") == false:
            request.drop("If-None-Match")
        case .trustsTheQuery where request.queryItem("flagConfigEtag") != nil:
            request.put("If-None-Match", request.queryItem("flagConfigEtag"))
        case .ignoresAttributes:
            guard let user = MockJSON.parse(request.body)?["context"]?["targetingKey"] else { break }
            request.body = MockJSON.object(["context": .object(["targetingKey": user])]).bytes
        case .splitsAtSlashes where request.segments.count > 5 || request.path.lowercased().contains("%2f"):
            request.path = "/nothing"
        case .decodesTwice: request.path = request.path.replacing("%25", with: "%")
        case .plusIsSpace: request.path = request.path.replacing("+", with: "%20")
        case .anyTokenWillDo where request.header("Authorization") != nil:
            request.put("Authorization", "Bearer \(OFREPMock.token)")
        case .streamIsForEverybody where request.segments.last == "sse":
            request.put("Authorization", "Bearer \(OFREPMock.token)")
        case .takesAnyMethod where request.segments.contains("evaluate"): request.method = "POST"
        default: break
        }
        return request
    }

    /// The answer as a server with this fault sends it.
    ///
    /// - Parameters:
    ///   - answer: A correct server's answer to the misread request.
    ///   - request: The original request.
    ///   - flags: The keys of the flags.
    ///   - turn: The number of the answer.
    /// - Returns: The spoiled answer.
    func spoil(_ answer: MockResponse, to request: MockRequest, flags: [String], turn: Int) -> MockResponse {
        var answer = answer
        let refused = (400..<500).contains(answer.status) && !answer.body.isEmpty
        switch self {
        case .tagOfTheUserAlone:
            let user = MockJSON.parse(request.body)?["context"]?["targetingKey"]?.string ?? ""
            answer.confirm(asOne: "\"\(OFREPMockFlag.hash(Array(user.utf8)))\"", of: request) { $0 == $1 }
        case .newTagEachTime: answer.tag = answer.tag.map { _ in "\"turn-\(turn)\"" }
        case .tagWithoutQuotes: answer.tag = answer.tag?.replacing("\"", with: "")
        case .matchesPartOfATag:
            guard let tag = answer.tag else { break }
            answer.confirm(asOne: tag, of: request) { asked, tag in
                let part = asked.filter { $0 != "\"" }
                return !part.isEmpty && tag.contains(part)
            }
        case .confirmsRefusals where answer.status == 400 && request.header("If-None-Match") != nil:
            answer = MockResponse(status: 304)
        case .refusesWithoutKey where refused: answer.edit { $0["key"] = nil }
        case .refusesWithoutWords where refused: answer.edit { $0["errorDetails"] = nil }
        case .refusesInPlainText where refused:
            answer = MockResponse(status: answer.status, type: "text/plain", text: "no")
        case .ownCodes where refused: answer.edit { $0["errorCode"] = "NO_SUCH_THING" }
        case .absentIsGood where answer.status == 404:
            answer.edit { $0 = ["key": $0["key"] ?? "", "reason": "DEFAULT", "variant": ""] }
            answer.status = 200
        case .failsOnBadBodies where answer.code == "PARSE_ERROR": answer = MockResponse(status: 500)
        case .failsWithoutAContext where answer.code == "INVALID_CONTEXT" || answer.code == "TARGETING_KEY_MISSING":
            answer = MockResponse(status: 500)
        case .tellsStrangersOfFlags where answer.status == 401:
            let keys = MockJSON.array(flags.map { .string($0) })
            answer = OFREPMock.json(MockJSON.object(["flags": .array([]), "known": keys]).bytes)
            answer.status = 401
        case .looksBeforeItLetsIn where answer.status == 401 && request.segments.count > 4:
            if !flags.contains(request.segments.dropFirst(4).joined(separator: "/")) { answer.status = 404 }
        case .patienceWithAFraction where answer.status == 429:
            answer.headers = [.init("Retry-After", "0.5")]
        case .streamIsText where answer.isStream: answer.headers = [.init("Content-Type", "text/plain")]
        case .textIsNoJSON where answer.status == 200 && !answer.isStream:
            answer.headers = answer.headers.filter { $0.name != "Content-Type" } + [.init("Content-Type", "text/html")]
        default: break
        }
        return answer
    }

    /// A flag as a server with this fault answers it.
    ///
    /// - Parameters:
    ///   - item: The flag as a correct server answers it.
    ///   - isAlone: Whether it was requested on its own.
    /// - Returns: The items that replace it.
    func spoil(_ item: MockJSON, isAlone: Bool) -> [MockJSON] {
        guard var item = item.object else { return [item] }
        switch (self, item["value"]) {
        case (.floatsWithoutFraction, .double(let value)?): item["value"] = .int(Int(value.rounded()))
        case (.integersWithFraction, .int(let value)?): item["value"] = .double(Double(value))
        case (.hugeIntegers, .int?): item["value"] = .int(9_007_199_254_740_993)
        case (.nullForNoValue, nil) where item["errorCode"] == nil: item["value"] = .null
        case (.disagreesAlone, _?) where isAlone: item["variant"] = "alone"
        case (.noVariant, _): item["variant"] = nil
        case (.strangeReason, _) where item["reason"] != nil: item["reason"] = "BECAUSE"
        case (.nestedMetadata, _) where item["metadata"] != nil:
            item["metadata"] = .object(["owner": .object(["name": "shop"])])
        case (.sameKeyTwice, _) where !isAlone: return [.object(item), .object(item)]
        default: break
        }
        return [.object(item)]
    }

    /// The event stream of a server with this fault; `nil` if the stream is correct.
    func pieces() -> AsyncStream<[UInt8]>? {
        guard self == .streamEndsAtOnce else { return nil }
        return AsyncStream { $0.finish() }
    }

    /// The data of an event as a server with this fault sends it.
    func data(_ honest: String) -> String {
        self == .streamTellsValues ? #"{"type":"refetchEvaluation","flags":[{"key":"a","value":1}]}"# : honest
    }
}

extension MockRequest {
    fileprivate mutating func drop(_ name: String) {
        headers.removeAll { $0.name.lowercased() == name.lowercased() }
    }

    fileprivate mutating func put(_ name: String, _ value: String?) {
        drop(name)
        if let value { headers.append(.init(name, value)) }
    }
}

extension MockResponse {
    fileprivate var tag: String? {
        get { headers.first { $0.name == "ETag" }?.value }
        set {
            headers.removeAll { $0.name == "ETag" }
            if let newValue { headers.append(.init("ETag", newValue)) }
        }
    }

    fileprivate var code: String? { MockJSON.parse(body)?["errorCode"]?.string }
    fileprivate var isStream: Bool { headers.contains { $0.value == "text/event-stream" } }

    /// Sets the tag of a bulk answer, and turns it into a 304 if the request's field matches.
    fileprivate mutating func confirm(
        asOne tag: String,
        of request: MockRequest,
        _ matches: (_ asked: String, _ tag: String) -> Bool
    ) {
        guard status == 200, self.tag != nil else { return }
        self.tag = tag
        let asked = request.header("If-None-Match").map { $0.hasPrefix("W/") ? String($0.dropFirst(2)) : $0 }
        if let asked, matches(asked, tag) { self = MockResponse(status: 304, headers: [.init("ETag", tag)]) }
    }

    fileprivate mutating func edit(_ edit: (inout [String: MockJSON]) -> Void) {
        guard var members = MockJSON.parse(body)?.object else { return }
        edit(&members)
        body = MockJSON.object(members).exact
    }
}
