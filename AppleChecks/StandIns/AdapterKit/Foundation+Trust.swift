/// A constant that Foundation has on Apple platforms alone.
let NSURLAuthenticationMethodServerTrust = "NSURLAuthenticationMethodServerTrust"
