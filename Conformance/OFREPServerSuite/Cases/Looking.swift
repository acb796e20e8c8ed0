import AdapterKit
import Experimentation

extension FlagItem {
    /// The protocol's codes.
    static let codes: Set<String> = [
        "PARSE_ERROR", "TARGETING_KEY_MISSING", "INVALID_CONTEXT", "FLAG_NOT_FOUND", "GENERAL",
    ]
    /// The reasons that every client knows.
    static let reasons: Set<String> = [
        "STATIC", "DEFAULT", "TARGETING_MATCH", "SPLIT", "CACHED", "DISABLED", "STALE", "UNKNOWN",
    ]

    /// Whether the metadata is absent, or an object of strings, numbers and Booleans.
    static func isFlat(_ metadata: FlagValue?) -> Bool {
        guard let metadata else { return true }
        guard case .object(let members) = metadata else { return false }
        return members.values.allSatisfy { value in
            switch value {
            case .bool, .int, .double, .string: true
            case .null, .array, .object: false
            }
        }
    }
}

extension Reply {
    /// The number of items, valid or not.
    var flagCount: Int {
        if case .array(let items)? = members["flags"] { items.count } else { -1 }
    }

    /// The items by key.
    var byKey: [String: FlagItem] { Dictionary(items.map { ($0.key, $0) }, uniquingKeysWith: { $1 }) }
}

/// Formats JSON as text.
enum AnyJSON {
    static func text(_ value: FlagValue) -> String {
        (try? JSON.encode(value)).map { String(decoding: $0, as: UTF8.self) } ?? "null"
    }
}

extension ServerProbe {
    /// The flags, including failed ones; skips the case if there are none.
    func someItems() throws -> [FlagItem] {
        guard !survey.items.isEmpty else { throw skip("the server has no flags for this context") }
        return survey.items
    }

    /// The flags that didn't fail.
    func goodItems() throws -> [FlagItem] {
        guard !survey.good.isEmpty else { throw skip("the server has no flags for this context") }
        return survey.good
    }

    /// A flag that didn't fail and has a value.
    func someFlag(where isMeant: (FlagItem) -> Bool = { _ in true }, _ otherwise: String = "with a value") throws
        -> FlagItem
    {
        guard let item = survey.good.first(where: { $0.value != nil && isMeant($0) }) else {
            throw skip("the server has no flag \(otherwise)")
        }
        return item
    }

    func expectReason(_ item: FlagItem) {
        guard let reason = item.reason else { return fail("\(item.key): no reason") }
        expect(
            FlagItem.reasons.contains(reason),
            "\(item.key): the reason \(reason), which a client takes for an error"
        )
    }

    /// Expects a rejection: a status, and a body that clients can parse.
    ///
    /// - Parameters:
    ///   - reply: The answer.
    ///   - statuses: The accepted statuses.
    ///   - codes: The accepted codes; any of the protocol's if empty.
    ///   - key: The requested flag; `nil` for all.
    ///   - question: The request, for messages.
    func expectRefusal(
        _ reply: Reply,
        _ statuses: Set<Int> = [400],
        codes: Set<String> = FlagItem.codes,
        key: String? = nil,
        to question: String
    ) {
        let expected = statuses.sorted().map { String($0) }.joined(separator: " or ")
        guard expect(statuses.contains(reply.status), "\(question): expected \(expected), found \(reply.status)"),
            reply.status == 400 || reply.status == 404
        else { return }
        expect(reply.isJSON, "\(question): a refusal that isn't said to be JSON")
        let code = reply.members["errorCode"]?.stringValue
        expect(code.map(codes.contains) == true, "\(question): errorCode \(code ?? "missing")")
        let details = reply.members["errorDetails"]?.stringValue
        expect(details?.isEmpty == false, "\(question): no errorDetails, without which a client fails")
        if let key {
            let found = reply.members["key"]?.stringValue
            expect(found == key, "\(question): the key \(found ?? "missing")")
        }
        expect(
            reply.members["flags"] == nil && reply.members["value"] == nil,
            "\(question): an answer beside the error"
        )
    }

    /// Expects an evaluation or, where the protocol allows it, a rejection with one of some codes.
    func expectAnswer(_ reply: Reply, orRefusal codes: Set<String>, key: String? = nil, to question: String) {
        if reply.status == 200 {
            expect(reply.json != nil, "\(question): 200 without JSON")
        } else {
            expectRefusal(reply, codes: codes, key: key, to: question)
        }
    }

    /// Expects that the server still answers.
    func expectAlive() async throws {
        let reply = try await ask(.all(context))
        expect(reply, is: 200, to: "all flags, afterwards")
    }
}
