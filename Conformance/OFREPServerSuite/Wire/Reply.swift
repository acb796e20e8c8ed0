import AdapterKit
import Experimentation

/// An answer as received.
struct Reply: Sendable, Equatable {
    var status: Int
    var fields: [Field] = []
    var body: [UInt8] = []

    struct Field: Sendable, Equatable {
        var name: String
        var value: String
    }

    /// The first value of a field, ignoring the case of its name.
    func field(_ name: String) -> String? {
        fields.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    /// The body as text.
    var text: String { String(decoding: body, as: UTF8.self) }
    /// The body as JSON; `nil` if it is invalid.
    var json: FlagValue? { try? JSON.parse(body) }
    /// The members of the body; empty if it isn't an object.
    var members: [String: FlagValue] {
        if case .object(let members)? = json { members } else { [:] }
    }
    /// The items of a bulk answer; empty if there is no list.
    var items: [FlagItem] {
        guard case .array(let items)? = members["flags"] else { return [] }
        return items.compactMap(FlagItem.init)
    }
    /// Whether the content type is JSON.
    var isJSON: Bool {
        guard let type = field("Content-Type")?.lowercased().split(separator: ";").first else { return false }
        return type.hasPrefix("application/") && type.trimmedSuffix.hasSuffix("json")
    }
    /// Whether its body comes in chunks.
    var isChunked: Bool { field("Transfer-Encoding")?.lowercased() == "chunked" }
    /// Whether the connection closes after it.
    var closes: Bool { field("Connection")?.lowercased().contains("close") == true }
}

extension Substring {
    fileprivate var trimmedSuffix: Substring {
        var text = self
        while text.last == " " { text.removeLast() }
        return text
    }
}

/// A flag of an answer.
struct FlagItem: Sendable, Equatable {
    let members: [String: FlagValue]

    init?(_ value: FlagValue) {
        guard case .object(let members) = value else { return nil }
        self.members = members
    }

    var key: String { members["key"]?.stringValue ?? "" }
    var value: FlagValue? { members["value"] }
    var reason: String? { members["reason"]?.stringValue }
    var variant: String? { members["variant"]?.stringValue }
    var errorCode: String? { members["errorCode"]?.stringValue }
    var isFailure: Bool { members["errorCode"] != nil }
}
