import AdapterKit
import Experimentation

/// The JSON shapes of the wire, in the vendor's spelling.
enum EngageWire {
    /// A grant of the token endpoint.
    struct Grant: Sendable, Hashable {
        var accessToken: String
        var refreshToken: String?
        /// In seconds; `nil` for a token that doesn't expire.
        var expiresIn: Double?
    }

    /// A behaviour as submitted.
    struct Behavior: Sendable, Hashable {
        struct Attribute: Sendable, Hashable {
            var name: String
            var value: String
        }
        var code: Int
        var timestamp: String
        var contactID: String?
        var attributes: [Attribute]
    }

    /// Why a successful status isn't a success.
    enum Refusal: Sendable, Hashable {
        /// The answer isn't the vendor's.
        case foreign
        /// The answer says so.
        case stated(String)
    }

    /// Parses an answer of the token endpoint.
    static func grant(_ reply: HTTPReply) throws(ExperimentationError) -> Grant {
        let members: [String: FlagValue]
        do throws(ExperimentationError) {
            members = try JSON.parse(reply.body).objectValue ?? [:]
        } catch {
            if let error = EngageErrors.error(status: reply.status, of: "token") { throw error }
            throw ExperimentationError(.transport, "token: the answer isn't complete, valid JSON")
        }
        // An error in a 200 is an error too.
        if let name = members["error"]?.stringValue {
            let isOurs = ["invalid_client", "invalid_grant", "invalid_token", "unauthorized_client"].contains(name)
            if isOurs || (400..<429).contains(reply.status) && reply.status != 408 && reply.status != 425 {
                // The name is the vendor's and short; its description could repeat what was sent.
                throw ExperimentationError(.unauthorized, "token: the credentials were refused (\(word(name)))")
            }
            throw ExperimentationError(.transport, "token: the vendor answered an error (\(word(name)))")
        }
        if let error = EngageErrors.error(status: reply.status, of: "token") { throw error }
        guard let token = members["access_token"]?.stringValue, isToken(token) else {
            throw ExperimentationError(.transport, "token: the answer holds no access_token")
        }
        let life = members["expires_in"].flatMap { $0.doubleValue ?? $0.stringValue.flatMap(Double.init) }
        guard life.map({ $0.isFinite && $0 >= 0 }) ?? true else {
            throw ExperimentationError(.transport, "token: expires_in is not a number of seconds")
        }
        let refresh = members["refresh_token"]?.stringValue
        return Grant(
            accessToken: token,
            refreshToken: refresh.flatMap { $0.isEmpty ? nil : $0 },
            expiresIn: life.map { min($0, 365 * 86_400) }
        )
    }

    /// Encodes a submission.
    static func submission(_ behaviors: [Behavior]) -> [UInt8] {
        var json = JSONWriter(.exact, capacity: behaviors.count * 900 + 16)
        json.raw(#"{"events":["#)
        for (index, behavior) in behaviors.enumerated() {
            if index > 0 { json.raw(",") }
            json.raw(#"{"eventTypeCode":""#)
            json.number(behavior.code)
            json.raw(#"","eventTimestamp":"#)
            json.text(behavior.timestamp)
            if let contact = behavior.contactID {
                json.raw(#","contactId":"#)
                json.text(contact)
            }
            json.raw(#","attributes":["#)
            for (place, attribute) in behavior.attributes.enumerated() {
                if place > 0 { json.raw(",") }
                json.raw(#"{"name":"#)
                json.text(attribute.name)
                json.raw(#","value":"#)
                json.text(attribute.value)
                json.raw("}")
            }
            json.raw("]}")
        }
        json.raw("]}")
        return json.bytes
    }

    /// Returns whether a successful status hides a failed submission, or an answer that isn't the vendor's.
    static func refusal(in reply: HTTPReply) -> Refusal? {
        guard reply.body.contains(where: { $0 > 0x20 }) else { return nil }
        let value: FlagValue
        do throws(ExperimentationError) { value = try JSON.parse(reply.body) } catch { return .foreign }
        guard let members = value.objectValue else { return nil }
        if let error = members["error"], error != .null, error != .bool(false) {
            return .stated("the answer says: " + word(error.stringValue ?? "error"))
        }
        if members["success"] == .bool(false) { return .stated("the answer says that it failed") }
        return nil
    }

    private static func isToken(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }

    /// Makes one of the vendor's words safe for a message: short, with harmless characters only.
    private static func word(_ text: String) -> String {
        String(text.prefix(40).filter { $0.isASCII && ($0.isLetter || $0.isNumber || "_-. ".contains($0)) })
    }
}
