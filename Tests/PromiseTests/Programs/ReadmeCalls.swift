import AdapterKit
import EngageAdapter
import EvergageAdapter
import Experimentation
import FlagshipAdapter
import Foundation
import OFREPAdapter
import SigmaAdapter
import VendorCatalog

/// The calls in the README's table, with values for the names that they use.
enum ReadmeCalls {
    static func flagship(id: String, key: Secret, file: URL) async throws -> String {
        try await visit(FlagshipProvider(configuration: .init(environmentID: id, apiKey: key)), events: file)
    }

    static func sigma(token: Secret, file: URL) async throws -> String {
        try await visit(SigmaProvider(configuration: .init(projectToken: token)), events: file)
    }

    static func engage(
        host: String,
        credentials: EngageConfiguration.Credentials,
        list: String,
        file: URL
    ) async throws -> String {
        try await visit(
            EngageProvider(configuration: .init(host: host, credentials: credentials, listID: list)),
            events: file
        )
    }

    static func evergage(account: String, dataset: String, file: URL) async throws -> String {
        try await visit(EvergageProvider(configuration: .init(account: account, dataset: dataset)), events: file)
    }

    static func ofrep(url: Endpoint, token: Secret, file: URL) async throws -> String {
        try await visit(OFREPProvider(configuration: .init(baseURL: url, token: token)), events: file)
    }

    static func chosen(settings: [UInt8], file: URL) async throws -> String {
        try await visit(
            VendorCatalog.provider(
                json: settings,
                file: "vendor.json",
                environment: ProcessInfo.processInfo.environment
            ),
            events: file
        )
    }
}
