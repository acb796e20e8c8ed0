import Foundation

/// Where tenants keep their data: each in a place of its own, because the ids of users and events in it belong to one
/// tenant.
enum StorePlaces {
    /// The key of the first setting that names another tenant's place; `nil` if there is none.
    static func shared(by tenants: [TenantConfiguration]) -> String? {
        var taken: Set<String> = []
        for tenant in tenants {
            for (key, place) in places(of: tenant.store) where !taken.insert(place).inserted {
                return "tenants.\(tenant.name).\(key)"
            }
        }
        return nil
    }

    private static func places(of store: TenantConfiguration.Store) -> [(key: String, place: String)] {
        switch store {
        case .memory: []
        case .file(let url): [("store", path(of: url))]
        case .postgres(let database):
            [("store.postgres.schema", "\(database.url) \(database.schema)")]
                + (database.meanwhile.map { [("store.postgres.meanwhile", path(of: $0))] } ?? [])
        }
    }

    private static func path(of file: URL) -> String { file.resolvingSymlinksInPath().path }
}
