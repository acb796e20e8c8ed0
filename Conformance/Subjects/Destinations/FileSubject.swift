import ConformanceKit
import Experimentation
import ExperimentationComposition
import Foundation

/// The file, on a disk that can fill up, vanish or hang.
public struct FileSubject: ConformanceSubject {
    /// Creates the subject.
    public init() {}

    /// The destination's name.
    public var name: String { "file" }

    /// The declared capabilities.
    public var capabilities: Set<Capability> { Capability.ofDestinations }

    /// Why the other capabilities are missing.
    public var reasons: [Capability: String] { Capability.missingOfDestinations("a file") }

    /// Every field: an event is written whole.
    public var wireFields: Set<Received.Field> { Set(Received.Field.allCases) }

    /// From this project's own schema of an event.
    public var evidence: Evidence {
        Evidence(
            Dictionary(uniqueKeysWithValues: capabilities.map { ($0, Provenance.documented) }),
            rules: [
                .init(.inferred, "a disk that hangs is simulated by a pipe without a reader"),
                .init(.documented, "a full disk is /dev/full, one that is gone a link that leads nowhere"),
            ]
        )
    }

    /// A file refuses no single event, answers nothing, and doesn't say when it will be back.
    public func reason(forImpossible fault: WorldFault) -> String? {
        FileTrouble(fault.kind) == nil ? "a file can't fail like this: \(fault.kind.name)" : nil
    }

    /// Makes a folder for the file.
    public func open(_ world: World) async throws -> any SubjectStage { try FileStage(world) }
}

/// What can be wrong with a disk.
enum FileTrouble: Sendable {
    /// Nothing more fits.
    case full
    /// A folder is in the file's place until it is removed.
    case folder
    /// It hangs.
    case stuck
    /// It is slow.
    case slow(milliseconds: Int)

    /// What comes closest to a fault between a client and a server; `nil` if nothing does.
    init?(_ kind: WorldFault.Kind) {
        switch kind {
        case .status(401, nil), .status(403, nil): self = .folder
        case .status(let status, nil) where status >= 500 || status == 408 || status == 429: self = .full
        case .reset: self = .full
        case .stall: self = .stuck
        case .delay(let milliseconds): self = .slow(milliseconds: milliseconds)
        default: return nil
        }
    }
}
