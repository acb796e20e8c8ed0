import Foundation

/// The written form of envelopes, with the limits that are checked before any recursion.
package enum EnvelopeCoding {
    /// How deep the values of an event may be nested.
    package static let maximumDepth = 16

    /// Encodes an envelope as JSON with sorted names.
    ///
    /// - Throws: ``ErrorCode/tooLarge`` over the limit, ``ErrorCode/invalidArgument`` for what JSON can't hold.
    package static func encode(_ envelope: Envelope, limit: Int = .max) throws(ExperimentationError) -> [UInt8] {
        let bytes: [UInt8]
        do {
            bytes = try EnvelopeWriter.bytes(envelope)
        } catch {
            throw ExperimentationError(
                .invalidArgument,
                "The event \"\(envelope.event.type)\" holds a value that can't be written: numbers must be finite, and values not deeply nested.",
                cause: error
            )
        }
        try check(bytes.count, of: envelope, limit: limit)
        return bytes
    }

    /// Checks the size of an encoded envelope.
    ///
    /// - Throws: ``ErrorCode/tooLarge`` over the limit.
    static func check(_ size: Int, of envelope: Envelope, limit: Int) throws(ExperimentationError) {
        guard size > limit else { return }
        throw ExperimentationError(
            .tooLarge,
            "The event \"\(envelope.event.type)\" takes \(size) bytes; \(limit) are allowed."
        )
    }

    /// Returns an encoder with the settings of this form.
    static func encoder() -> JSONEncoder {
        let encoder = JSONWriter.encoder()
        // Seconds with microseconds: exact for the times that vendors can hold, and readable.
        encoder.dateEncodingStrategy = .secondsSince1970
        return encoder
    }

    /// Decodes what ``encode(_:limit:)`` wrote.
    package static func decode(_ bytes: [UInt8]) throws(ExperimentationError) -> Envelope {
        var former = FormerTexts()
        return try decode(bytes[...], after: &former)
    }

    /// Decodes what ``encode(_:limit:)`` wrote, from a slice of other bytes.
    ///
    /// - Parameters:
    ///   - bytes: The written form.
    ///   - former: Texts of the previous envelope in a list; this envelope's own afterwards.
    /// - Returns: The envelope.
    /// - Throws: ``ErrorCode/store``.
    package static func decode(
        _ bytes: ArraySlice<UInt8>,
        after former: inout FormerTexts
    ) throws(ExperimentationError) -> Envelope {
        if let envelope = EnvelopeReader.read(bytes, after: &former) { return envelope }
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .secondsSince1970
        do {
            return try decoder.decode(Envelope.self, from: Data(bytes))
        } catch {
            throw ExperimentationError(.store, "A stored event can't be read.", cause: error)
        }
    }
}

extension FlagValue {
    /// Why an event can't carry this value of the application's, as the end of a sentence; `nil` if it can.
    var objection: String? {
        let most = EnvelopeCoding.maximumDepth
        if depth(upTo: most) > most { return "is nested deeper than \(most) levels." }
        return isFinite ? nil : "holds a number that isn't finite."
    }
}
