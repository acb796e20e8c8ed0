import AdapterKit
import ComparisonKit
import ConformanceSubjects
import Experimentation
import ExperimentationComposition
import Foundation
import VendorCatalog

/// A configuration file: the vendor and its settings.
struct Configuration: Sendable {
    let vendor: Vendor
    private let settings: SettingsReader

    /// Reads a configuration file, JSON or YAML.
    init(at path: String) throws {
        let document = try InputFile.document(path)
        guard case .object(var members) = document.value else {
            throw Failure(.input, "\(path): expected an object with \"vendor\" and its settings")
        }
        let known = Vendor.configurable.map(\.name).joined(separator: ", ")
        guard let name = members.removeValue(forKey: "vendor")?.stringValue else {
            throw Failure(.input, "\(path): \"vendor\": missing or not a text; expected one of \(known)")
        }
        guard let vendor = Vendor.configurable.first(where: { $0.name == name }) else {
            let place = document.lines["vendor"].map { "\(path):\($0)" } ?? path
            throw Failure(.input, "\(place): \"vendor\": there is no \"\(name)\"; expected one of \(known)")
        }
        self.vendor = vendor
        VendorCatalog.takeMock(&members)
        do {
            settings = try SettingsReader(
                .object(members),
                file: path,
                environment: ProcessInfo.processInfo.environment
            )
        } catch {
            throw Failure(error)
        }
    }

    /// Creates the provider.
    func provider() throws -> any ExperimentationProvider {
        do {
            return try vendor.provider(from: settings)
        } catch let error as ExperimentationError {
            throw Failure(.input, error.message)
        }
    }

    /// Creates the composition that the tables describe, with each vendor's mock.
    func composedSubject() throws -> ComposedSubject {
        guard let composed = try provider() as? ComposedProvider else {
            throw Failure(.input, "\(vendor.name) is no composition; name it by --vendor")
        }
        return ComposedSubject(playing: composed)
    }

    /// Creates a client with a store.
    func client(
        store: ClientStore,
        options: ClientOptions = ClientOptions(),
        log: any LogSink = NoLog()
    ) async throws -> ExperimentationClient {
        do {
            return try await ExperimentationClient(
                provider: provider(),
                store: store,
                options: options,
                environment: ClientEnvironment(log: log)
            )
        } catch let error as ExperimentationError where error.code == .configuration {
            throw Failure(.input, "\(settings.file): \(error.message)")
        } catch let error as ExperimentationError {
            throw Failure(error)
        }
    }
}
