import Foundation

/// Values that ship with an application, read until there are decisions: offline, at the first start, in a preview.
///
/// Their reason is ``Reason/bundled``, and they are never exposed.
///
/// ```swift
/// let options = ClientOptions(bootstrap: try Bootstrap(contentsOf: bundle.url(forResource: "flags", withExtension: "json")!))
/// ```
public struct Bootstrap: Sendable, Equatable {
    /// The values by flag.
    public var flags: [String: FlagValue]

    /// Creates a bootstrap from values by flag.
    public init(flags: [String: FlagValue]) { self.flags = flags }

    /// Reads a JSON object of values by flag: `{"newCheckout": true, "btnColor": "red"}`.
    ///
    /// - Parameter json: The object, in UTF-8.
    /// - Throws: ``ErrorCode/configuration`` for any other content.
    public init(json: some Sequence<UInt8>) throws(ExperimentationError) {
        guard case .object(let flags)? = try? JSONParser.document(Array(json), deepest: EnvelopeCoding.maximumDepth)
        else {
            throw ExperimentationError(.configuration, "A bootstrap must be a JSON object of values by flag.")
        }
        self.flags = flags
    }

    /// Reads a file, such as one in an application's bundle.
    ///
    /// - Parameter url: A file with the content that ``init(json:)`` reads.
    /// - Throws: ``ErrorCode/configuration`` if the file can't be read.
    public init(contentsOf url: URL) throws(ExperimentationError) {
        guard let data = try? Data(contentsOf: url) else {
            throw ExperimentationError(.configuration, "The bootstrap \(url.lastPathComponent) can't be read.")
        }
        try self.init(json: data)
    }

    /// The values as decisions.
    var decisions: Decisions {
        Decisions(flags: flags.sorted { $0.key < $1.key }.map { ($0.key, Resolution($0.value, reason: .bundled)) })
    }
}
