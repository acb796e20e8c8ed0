import ComparisonKit
import ConformanceKit
import ConformanceSubjects
import Experimentation
import ExperimentationMigration
import Foundation

/// A plan file with its two vendors.
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

    /// Returns one of the plan's vendors with its mock, by name or by the configuration file in the plan.
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

    /// Whether the plan names a vendor; it may name the old one alone.
    func names(_ member: String) -> Bool { document.objectValue?[member] != nil }

    /// Rejects a plan between two identical accounts.
    func expectTwoAccounts() throws {
        guard names("to") else { return }
        let (old, new) = (try provider("from"), try provider("to"))
        guard old.destination != new.destination else {
            throw Failure(.input, "\(path): \"to\": it is the same account of \(new.name) as \"from\"")
        }
    }

    /// Returns one of the plan's vendors by its configuration file; a relative path starts at the plan's folder.
    func provider(_ member: String) throws -> any ExperimentationProvider {
        guard let name = document.objectValue?[member]?.stringValue, !name.isEmpty else {
            let isMissing = names(member) ? "" : "missing; "
            throw Failure(.input, "\(path): \"\(member)\": \(isMissing)expected the path of a configuration file")
        }
        let url = URL(filePath: name, relativeTo: URL(filePath: path).deletingLastPathComponent())
        return try Configuration(at: url.path).provider()
    }
}
