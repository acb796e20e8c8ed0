import ComparisonKit
import ConformanceKit
import ConformanceSubjects
import Experimentation
import ExperimentationMigration
import Foundation

/// A plan file, with the vendors that it names.
struct PlanFile {
    let plan: MigrationPlan
    private let path: String
    private let document: FlagValue

    /// Reads a plan file.
    init(at path: String) throws {
        self.path = path
        let bytes = try InputFile.bytes(of: path)
        do {
            plan = try MigrationPlan(json: bytes, file: path)
            document = try SourceDocument(json: bytes, name: path).value
        } catch let error as ExperimentationError {
            throw Failure(error)
        } catch let error as DocumentError {
            throw Failure(error)
        }
    }

    /// The vendor that is left or moved to with its mock: by a name, or by the configuration file that the plan names.
    func subject(_ member: String) throws -> any ConformanceSubject {
        if case .object(let members) = document, let name = members[member]?.stringValue,
            let subject = Vendor.everySubject.first(where: { $0.name == name })
        {
            return subject
        }
        let provider = try provider(member)
        let subjects = Vendor.named(provider.name)?.subjects ?? []
        guard let subject = subjects.first(where: { $0.capabilities == provider.capabilities }) ?? subjects.first else {
            throw Failure(.input, "\(path): \"\(member)\": \(provider.name) has no mock to play against")
        }
        return subject
    }

    /// Refuses a plan whose two vendors are one account; one that names only the vendor that is left has nothing to compare.
    func expectTwoAccounts() throws {
        guard case .object(let members) = document, members["to"] != nil else { return }
        let (old, new) = (try provider("from"), try provider("to"))
        guard old.destination != new.destination else {
            throw Failure(.input, "\(path): \"to\": it is the same account of \(new.name) as \"from\"")
        }
    }

    /// The vendor that is left or moved to, by the configuration file that the plan names; beside the plan, unless the path is whole.
    func provider(_ member: String) throws -> any ExperimentationProvider {
        guard case .object(let members) = document, let name = members[member]?.stringValue else {
            throw Failure(.input, "\(path): \"\(member)\": missing; expected the path of a configuration file")
        }
        let url = URL(filePath: name, relativeTo: URL(filePath: path).deletingLastPathComponent())
        return try Configuration(at: url.path).provider()
    }
}
