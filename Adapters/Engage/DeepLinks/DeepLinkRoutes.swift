import AdapterKit
import Experimentation
import Foundation

/// The meaning of links to the application, by the route file of the MobileDeepLinking library.
///
/// ```json
/// {"logging": "true",
///  "defaultRoute": {"handlers": ["postSilverpop"]},
///  "routes": {"test/:testId": {"handlers": ["postSilverpop"],
///             "routeParameters": {"testId": {"required": "true", "regex": "[0-9]"}, "utmSource": {}}}}}
/// ```
/// The first component of a route is the link's host; `:name` captures a component. A parameter of the query counts
/// only if it is declared. A regular expression must match a value exactly once, anywhere in it: `[0-9]` accepts `5`
/// and `a5`, not `55`. If no route matches, the link's last component is dropped, and so on until a route matches;
/// otherwise the default route applies. Of several matching routes, the one with the most literal components is taken,
/// then the first by name.
public struct DeepLinkRoutes: Sendable, Hashable {
    /// The handler that adds a link's parameters to the behavior.
    public static let ownHandler = "postSilverpop"

    /// The meaning of a link.
    public struct Match: Sendable, Hashable {
        /// The matching route as written; `nil` for the default route, or none.
        public var route: String?
        /// The names of the handlers to run.
        public var handlers: [String]
        /// The parameters that the route captured.
        public var parameters: [String: String]
    }

    struct Parameter: Sendable, Hashable {
        var isRequired = false
        var pattern: BoundedPattern?
    }

    struct Route: Sendable, Hashable {
        var name: String
        var components: [String]
        var handlers: [String]
        var parameters: [String: Parameter]
        var literals: Int { components.count { !$0.hasPrefix(":") } }
    }

    /// Whether to log how links are handled.
    public let logs: Bool
    let routes: [Route]
    let defaultHandlers: [String]

    /// Parses a route file.
    ///
    /// - Throws: `ErrorCode.configuration` for invalid content, with the file, the route and the parameter.
    public init(json bytes: [UInt8], file: String) throws(ExperimentationError) {
        func refuse(_ place: String, _ reason: String) -> ExperimentationError {
            ExperimentationError(.configuration, "\(file): \(place): \(reason)")
        }
        let document: FlagValue
        do throws(ExperimentationError) { document = try JSON.parse(bytes) } catch {
            throw refuse("the file", error.message)
        }
        guard let root = document.objectValue else { throw refuse("the file", "expected an object") }
        logs = Self.flag(root["logging"])
        func handlers(_ value: FlagValue?, _ place: String) throws(ExperimentationError) -> [String] {
            guard let value, value != .null else { return [] }
            guard let list = value.arrayValue else { throw refuse(place, "expected a list of names") }
            var names: [String] = []
            for element in list {
                guard let name = element.stringValue else { throw refuse(place, "expected a list of names") }
                names.append(name)
            }
            return names
        }
        defaultHandlers = try handlers(root["defaultRoute"]?.objectValue?["handlers"], "defaultRoute.handlers")
        guard root["routes"].map({ $0.objectValue != nil }) ?? true else {
            throw refuse("routes", "expected an object")
        }
        var routes: [Route] = []
        for (name, value) in root["routes"]?.objectValue ?? [:] {
            let place = "routes[\"\(name)\"]"
            guard let fields = value.objectValue else { throw refuse(place, "expected an object") }
            var parameters: [String: Parameter] = [:]
            for (parameter, rules) in fields["routeParameters"]?.objectValue ?? [:] {
                let place = "\(place).routeParameters.\(parameter)"
                guard let rules = rules.objectValue else { throw refuse(place, "expected an object") }
                var read = Parameter(isRequired: Self.flag(rules["required"]))
                if let pattern = rules["regex"] {
                    guard let text = pattern.stringValue else { throw refuse("\(place).regex", "expected a text") }
                    do throws(ExperimentationError) { read.pattern = try BoundedPattern(text) } catch {
                        throw refuse("\(place).regex", error.message)
                    }
                }
                parameters[parameter] = read
            }
            // The library counts the empty component of a route that begins with a slash, and so never matches it.
            let components = name.split(separator: "/", omittingEmptySubsequences: true).map(String.init)
            guard !components.isEmpty else { throw refuse(place, "a route needs at least one component") }
            routes.append(
                Route(
                    name: name,
                    components: components,
                    handlers: try handlers(fields["handlers"], "\(place).handlers"),
                    parameters: parameters
                )
            )
        }
        self.routes = routes.sorted { ($1.literals, $0.name) < ($0.literals, $1.name) }
    }

    private static func flag(_ value: FlagValue?) -> Bool { value == .bool(true) || value?.stringValue == "true" }

    /// Returns the meaning of a link.
    public func match(_ link: DeepLink) -> Match {
        var components = link.components
        while !components.isEmpty {
            for route in routes {
                if let parameters = take(components, query: link.query, by: route) {
                    return Match(route: route.name, handlers: route.handlers, parameters: parameters)
                }
            }
            components.removeLast()
        }
        return Match(route: nil, handlers: defaultHandlers, parameters: [:])
    }

    private func take(_ components: [String], query: [String: String], by route: Route) -> [String: String]? {
        guard components.count == route.components.count else { return nil }
        var taken: [String: String] = [:]
        for (pattern, component) in zip(route.components, components) {
            if pattern.hasPrefix(":") {
                taken[String(pattern.dropFirst())] = component
            } else if pattern != component {
                return nil
            }
        }
        for name in route.parameters.keys { if let value = query[name] { taken[name] = value } }
        for (name, rules) in route.parameters {
            guard let value = taken[name] else {
                if rules.isRequired { return nil }
                continue
            }
            if let pattern = rules.pattern, pattern.count(in: value, upTo: 2) != 1 { return nil }
        }
        return taken
    }
}

/// A link to the application, in its parts.
public struct DeepLink: Sendable, Hashable {
    /// The host and the path's components, decoded.
    public let components: [String]
    /// The query's parameters, decoded; of a repeated name, the last value counts.
    public let query: [String: String]

    /// Parses a link.
    ///
    /// This never fails: parts that can't be decoded stay unchanged.
    public init(_ address: String) {
        let halves = address.prefix { $0 != "#" }.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        var path = halves[0]
        if let scheme = path.range(of: "://") { path = path[scheme.upperBound...] }
        func decoded(_ text: Substring) -> String { text.removingPercentEncoding ?? String(text) }
        components = path.split(separator: "/", omittingEmptySubsequences: true).map(decoded)
        var values: [String: String] = [:]
        for pair in halves.dropFirst().joined().split(separator: "&") {
            // In such links, a space is written %20; a plus stays a plus.
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, !parts[0].isEmpty else { continue }
            values[decoded(parts[0])] = decoded(parts[1])
        }
        self.query = values
    }
}
