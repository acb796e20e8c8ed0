import AdapterKit
import Experimentation
import Foundation
import HTTPTypes

/// Builds requests for batches, signed as in Standard Webhooks 1.0.
///
/// The same events in the same order have the same `webhook-id`, by which a receiver detects repetitions.
struct WebhookRequests: Sendable {
    let configuration: WebhookConfiguration

    /// Builds the request of a batch.
    ///
    /// - Parameters:
    ///   - events: The events in their JSON form.
    ///   - id: The batch's name.
    ///   - now: The time of sending.
    /// - Returns: The message.
    /// - Throws: `ErrorCode.invalidArgument` for values that JSON can't represent.
    func batch(
        _ events: [FlagValue],
        id: String,
        at now: Date
    ) throws(ExperimentationError) -> HTTPMessage {
        let body = try JSON.encode(["id": .string(id), "events": .array(events)])
        let time = String(Int(exactly: now.timeIntervalSince1970.rounded(.down)) ?? 0)
        var named = ["webhook-id": id, "webhook-timestamp": time, "idempotency-key": id]
        if let key = configuration.key { named["webhook-signature"] = Self.signature(id, time, body, key: key) }
        var fields = HTTPFields()
        for (name, value) in named { try fields.put(value, named: name) }
        return configuration.endpoint.post(json: body, path: [], headers: fields)
    }

    /// Returns the signature of a message.
    static func signature(_ id: String, _ time: String, _ body: [UInt8], key: [UInt8]) -> String {
        let code = KeyedDigest.sha256(Array("\(id).\(time).".utf8) + body, key: key)
        return "v1," + Data(code).base64EncodedString()
    }
}

extension WebhookConfiguration {
    /// The key of signatures; `nil` without a valid secret.
    var key: [UInt8]? {
        guard let text = secret?.reveal() else { return nil }
        guard text.hasPrefix("whsec_") else { return Array(text.utf8) }
        return Data(base64Encoded: String(text.dropFirst(6))).flatMap { $0.isEmpty ? nil : Array($0) }
    }
}
