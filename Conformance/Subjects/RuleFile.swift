import AdapterKit
import ComparisonKit
import Experimentation

/// A kind of rule file in a vendor's own format, as an account's owner downloads it from the address that applications
/// use.
public struct RuleFile: Sendable {
    /// The vendor whose file it is.
    public let vendor: String
    /// The top-level members of which every file of this kind has at least one.
    let marks: Set<String>
    /// Extracts the experiments from a file.
    let experiments: @Sendable ([String: FlagValue]) -> [TestedExperiment]
    /// Creates a provider that reads such files, and the file as that provider stores it.
    let stored: @Sendable ([UInt8]) -> (provider: any ExperimentationProvider, raw: [UInt8])

    /// The kinds of files, by vendor.
    static let all: [RuleFile] = [flagship, sigma]

    /// Creates one side of an agreement from a file, whose kind is detected by its content.
    ///
    /// - Parameters:
    ///   - bytes: The file's content.
    ///   - name: The file's name, for reports and errors.
    /// - Returns: The side, which decides by the file alone.
    /// - Throws: When the file can't be parsed, or has no known kind.
    public static func decider(_ bytes: [UInt8], named name: String) async throws(ExperimentationError) -> Decider {
        let document: FlagValue
        do throws(ExperimentationError) { document = try JSON.parse(bytes) } catch {
            throw ExperimentationError(.parseError, "\(name): \(error.message)")
        }
        guard let members = document.objectValue,
            let file = all.first(where: { !$0.marks.isDisjoint(with: members.keys) })
        else {
            throw ExperimentationError(
                .parseError,
                "\(name): expected rules of a vendor: " + all.map(\.sentence).joined(separator: ", or ")
            )
        }
        let stored = file.stored(bytes)
        do throws(ExperimentationError) {
            return try await Decider(
                name: name,
                restoring: stored.raw,
                with: stored.provider,
                experiments: file.experiments(members)
            )
        } catch {
            throw ExperimentationError(error.code, "\(name): \(error.message)")
        }
    }

    private var sentence: String {
        "\(vendor)'s with " + marks.sorted().map { "\"\($0)\"" }.joined(separator: " or ")
    }
}

extension FlagValue {
    /// The number, also if it is written as text: files contain both.
    var numberOrText: Double? { doubleValue ?? stringValue.flatMap(Double.init) }

    /// A normalized copy, so that equal values of two vendors compare equal: an integer is one however it is written.
    var comparable: FlagValue {
        guard case .double(let number) = self, let whole = Int(exactly: number) else { return self }
        return .int(whole)
    }
}
