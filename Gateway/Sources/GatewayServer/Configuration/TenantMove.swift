import AdapterKit
import Experimentation
import ExperimentationMigration
import Foundation
import VendorCatalog

/// A tenant's move from one vendor to another: the plan, and the settings of both vendors.
public struct TenantMove: Sendable, Hashable {
    /// The plan of the move.
    public var plan: MigrationPlan
    /// The plan's file, for messages.
    public var file: String
    /// The old vendor, in the format of `VendorCatalog`, with its file.
    public var old: VendorFile
    /// The new vendor.
    public var new: VendorFile

    /// A vendor and its settings, with the file that contains them.
    public struct VendorFile: Sendable, Hashable {
        /// The vendor and its settings.
        public var settings: FlagValue
        /// The file, for messages.
        public var file: String

        /// Creates a vendor's file.
        public init(settings: FlagValue, file: String) {
            self.settings = settings
            self.file = file
        }
    }

    /// Creates a move.
    public init(plan: MigrationPlan, file: String, old: VendorFile, new: VendorFile) {
        self.plan = plan
        self.file = file
        self.old = old
        self.new = new
    }

    /// Whether a document is the plan of a move rather than a vendor's settings.
    static func isPlan(_ document: FlagValue) -> Bool {
        guard case .object(let members) = document else { return false }
        return members["vendor"] == nil && members["from"] != nil && members["to"] != nil
    }

    /// Reads a plan's file and the files of the vendors that it names, relative to it.
    ///
    /// - Parameters:
    ///   - file: The plan's file.
    ///   - bytes: Its contents.
    /// - Throws: `ErrorCode.configuration`, naming file, key and what was expected.
    init(file: URL, bytes: [UInt8]) throws(ExperimentationError) {
        plan = try MigrationPlan(json: bytes, file: file.path)
        self.file = file.path
        let document = try JSON.parse(bytes)
        func vendor(_ key: String) throws(ExperimentationError) -> VendorFile {
            guard let name = document.objectValue?[key]?.stringValue else {
                throw ExperimentationError(.configuration, "\(file.path): \"\(key)\": expected a vendor's file")
            }
            let url = URL(fileURLWithPath: name, relativeTo: file)
            do throws(ExperimentationError) {
                return VendorFile(settings: try JSON.parse(try ConfigurationFile.bytes(of: url)), file: url.path)
            } catch {
                throw ExperimentationError(.configuration, "\(file.path): \"\(key)\": \(error.message)")
            }
        }
        old = try vendor("from")
        new = try vendor("to")
    }

    /// Makes the provider of both vendors.
    ///
    /// - Parameter variables: The environment variables that secrets may refer to.
    /// - Returns: A provider that hasn't been started.
    /// - Throws: `ErrorCode.configuration`, naming file, key and what was expected.
    func provider(variables: [String: String]) throws(ExperimentationError) -> any ExperimentationProvider {
        MigratingProvider(
            from: try VendorCatalog.provider(from: old.settings, file: old.file, environment: variables),
            to: try VendorCatalog.provider(from: new.settings, file: new.file, environment: variables),
            plan: plan
        )
    }

    /// The move without its stage, which identifies the connection: changing the stage doesn't need a new one.
    var withoutStage: TenantMove {
        var move = self
        (move.plan.stage, move.plan.share, move.plan.revision) = (.off, 0, 0)
        return move
    }
}
